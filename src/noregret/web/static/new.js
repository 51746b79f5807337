// The form for a new study.

import { Wrong, call, clear, columns, complain, numerals, post } from "./page.js";

const form = document.getElementById("new"),
  inputs = document.getElementById("inputs");

let understood = new Map(); // of each field with a number what the server read

function numeral(field) {
  if (!understood.has(field)) throw new Wrong("A number is missing.", field);
  return understood.get(field).value;
}

// All fields that are to hold a number and hold something.
function numeric() {
  const isChoice = (field) =>
    field.closest(".entry")?.querySelector("[data-field=kind]").value === "choice";
  return [...form.querySelectorAll("input[inputmode], [data-field=past]")].filter(
    (field) => field.value.trim() !== "" && !field.closest("[hidden]") && !isChoice(field),
  );
}

function more() {
  inputs.append(document.getElementById("input").content.cloneNode(true));
  return inputs.lastElementChild;
}

function shown() {
  const listed = form.elements.space.value === "candidates";
  document.getElementById("box").hidden = listed;
  document.getElementById("list").hidden = !listed;
  inputs.querySelectorAll("[data-field=name]").forEach((field) => {
    field.required = !listed;
  });
  for (const row of form.querySelectorAll("[data-for]"))
    row.hidden = !row.dataset.for.split(" ").includes(form.elements.strategy.value);
  for (const input of inputs.children) {
    const choice = input.querySelector("[data-field=kind]").value === "choice";
    input.querySelectorAll("[data-range]").forEach((part) => {
      part.hidden = choice;
    });
    input.querySelectorAll("[data-options]").forEach((part) => {
      part.hidden = !choice;
    });
    const name = input.querySelector("[data-field=name]").value.trim();
    input.querySelector("[data-past]").hidden = !known || name === "" || known.includes(name);
  }
}

const options = (input) =>
  input
    .querySelector("[data-field=options]")
    .value.split(",")
    .map((each) => each.trim());

async function parameter(input) {
  const field = (name) => input.querySelector(`[data-field=${name}]`);
  const name = field("name").value.trim(),
    kind = field("kind").value;
  if (kind === "choice") {
    const texts = options(input);
    if (texts.length < 2) throw new Wrong("At least two options are needed.", field("options"));
    const [read] = await columns([texts]).catch((error) => {
      throw new Wrong(error.message, field("options"));
    });
    return { kind, name, options: read, ordered: field("ordered").checked };
  }
  const low = numeral(field("low")),
    high = numeral(field("high")),
    log = field("log").checked;
  if (kind === "int")
    for (const [value, end] of [
      [low, "low"],
      [high, "high"],
    ])
      if (!Number.isInteger(value)) throw new Wrong("A whole number is needed.", field(end));
  if (low >= high) throw new Wrong(`It must be more than ${low}.`, field("high"));
  if (log && low <= 0) throw new Wrong("On a log scale it must be more than 0.", field("low"));
  const unit = field("unit").value.trim() || undefined;
  if (field("step").value.trim() === "") return { kind, name, low, high, log, unit };
  const step = numeral(field("step"));
  if (step <= 0)
    throw new Wrong("It must be more than 0: leave it empty if there is no step.", field("step"));
  if (kind === "int" && !Number.isInteger(step))
    throw new Wrong("A whole number is needed.", field("step"));
  return { kind, name, low, high, log, step, unit };
}

// Fields with commas or line breaks stand in double quotes, as in every CSV file.
function table(text) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i],
      row = rows.at(-1);
    if (quoted && c === '"' && text[i + 1] === '"') {
      row[row.length - 1] += c;
      i += 1;
    } else if (c === '"') quoted = !quoted;
    else if (c === "," && !quoted) row.push("");
    else if (c === "\n" && !quoted) rows.push([""]);
    else if (c !== "\r") row[row.length - 1] += c;
  }
  return rows
    .map((row) => row.map((each) => each.trim()))
    .filter((row) => row.some((each) => each !== ""));
}

async function designs(text) {
  const [names, ...rows] = table(text);
  if (!names || !rows.length)
    throw new Wrong("A line of names and at least one design are needed.", form.elements.designs);
  for (const row of rows)
    if (row.length !== names.length)
      throw new Wrong(
        `“${row.join(", ")}” has ${row.length} entries, there are ${names.length} names.`,
        form.elements.designs,
      );
  const read = await columns(names.map((_, i) => rows.map((row) => row[i]))).catch((error) => {
    throw new Wrong(error.message, form.elements.designs);
  });
  return rows.map((_, k) => Object.fromEntries(names.map((name, i) => [name, read[i][k]])));
}

function strategy() {
  const kind = form.elements.strategy.value,
    field = (name) => form.elements[name],
    value = (name) => numeral(field(name));
  if (kind === "rigorous")
    return {
      kind,
      noise_bound: value("noise_bound"),
      norm_bound: value("norm_bound"),
      offset: value("offset"),
      delta: value("delta"),
    };
  if (kind === "random" || field("noise_std").value.trim() === "") return { kind };
  if (value("noise_std") < 0)
    throw new Wrong(
      "It must be at least 0: leave it empty if it is not known.",
      field("noise_std"),
    );
  return { kind, noise_std: value("noise_std") };
}

// -- from another study: its inputs are filled in, its trials come along --

const source = new URLSearchParams(location.search).get("from");
const cell = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const unwrap = (value) =>
  value && value.type === "dict" ? Object.fromEntries(value.items) : value;
let known = null; // the inputs that it has

async function fill() {
  const old = await call(`/api/studies/${source}`);
  document.getElementById("source").textContent =
    `Filled in from “${old.name}”, which stays as it is.`;
  document.getElementById("source").hidden = document.getElementById("bring").hidden = false;
  form.elements.name.value = `${old.name} (2)`;
  form.elements.goal.value = old.goal;
  const kinds = { InsuredGPUCB: "insured", LogEI: "log_ei", RandomSearch: "random" },
    kind = kinds[old.strategy.type];
  if (kind) form.elements.strategy.value = kind;
  if (typeof old.strategy.noise_std === "number" && kind)
    form.elements.noise_std.value = old.strategy.noise_std;
  form.elements.outcomes.value = old.outcomes.join("\n");
  form.elements.context.value = old.context.join(", ");
  for (const part of ["value_name", "unit"]) form.elements[part].value = old.attributes[part] ?? "";
  if (old.space.type === "Candidates") {
    const rows = old.space.rows.map(unwrap),
      names = Object.keys(rows[0]);
    form.elements.space.value = "candidates";
    form.elements.designs.value = [names, ...rows.map((row) => names.map((name) => row[name]))]
      .map((row) => row.map((each) => cell(String(each))).join(","))
      .join("\n");
    return;
  }
  known = old.space.parameters.items.map(([name]) => name);
  form.elements.constraints.value = old.constraints.join("\n");
  inputs.replaceChildren();
  for (const [name, given] of old.space.parameters.items) {
    const set = more(),
      field = (part) => set.querySelector(`[data-field=${part}]`);
    field("name").value = name;
    field("kind").value = given.type.toLowerCase();
    if (given.options)
      [field("options").value, field("ordered").checked] = [
        given.options.join(", "),
        given.ordered ?? false,
      ];
    else
      [field("low").value, field("high").value, field("log").checked] = [
        given.low,
        given.high,
        given.log,
      ];
    field("unit").value = old.attributes.units?.[name] ?? "";
    if (given.digits !== undefined && given.digits !== null)
      field("step").value = Number(`1e-${given.digits}`);
    else if (given.step && !(given.type === "Int" && given.step === 1))
      field("step").value = given.step;
  }
}

// The value that each added input had until now.
function past(parameters) {
  const added = known ? parameters.filter(({ name }) => !known.includes(name)) : [];
  return Object.fromEntries(
    added.map(({ name, kind, options: read }) => {
      const field = [...inputs.children]
        .find((each) => each.querySelector("[data-field=name]").value.trim() === name)
        .querySelector("[data-field=past]");
      const text = field.value.trim();
      if (text === "") throw new Wrong("Enter its value in the earlier trials.", field);
      if (kind !== "choice") return [name, numeral(field)];
      const at = options(field.closest(".entry")).indexOf(text);
      return [name, at < 0 ? text : read[at]];
    }),
  );
}

// The field that a refusal of the server is about.
function blamed({ status, message }, ruled) {
  const { name, constraints, outcomes, context } = form.elements;
  if (status === 409) return name;
  if (/steps above/.test(message))
    return [...inputs.querySelectorAll("[data-field=step]")].find(({ value }) => value.trim());
  if (/context/.test(message)) return context;
  if (/outcome/.test(message)) return outcomes;
  return ruled && /constraint|combination|satisfies|feasible/.test(message) ? constraints : null;
}

form.addEventListener("change", shown);
form.addEventListener("input", shown);
form.addEventListener("click", (event) => {
  if (event.target.id === "more") {
    more().querySelector("input").focus();
    shown();
  }
  if (event.target.dataset.remove !== undefined && inputs.children.length > 1)
    event.target.closest(".entry").remove();
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clear(form);
  try {
    const { name, goal, space, seed } = form.elements,
      listed = space.value === "candidates";
    understood = await numerals(numeric());
    const parameters = listed ? [] : await Promise.all([...inputs.children].map(parameter));
    const limits = form.elements.constraints,
      constraints = listed
        ? []
        : limits.value
            .split("\n")
            .map((each) => each.trim())
            .filter((each) => each !== "");
    const along = source && form.elements.bring.checked;
    const made = await post(along ? `/api/studies/${source}/derive` : "/api/studies", {
      name: name.value,
      goal: goal.value,
      seed: numeral(seed),
      strategy: strategy(),
      outcomes: form.elements.outcomes.value
        .split("\n")
        .map((each) => each.trim())
        .filter((each) => each !== ""),
      context: form.elements.context.value
        .split(",")
        .map((each) => each.trim())
        .filter((each) => each !== ""),
      space: listed
        ? { kind: "candidates", rows: await designs(form.elements.designs.value) }
        : { kind: "box", parameters, constraints },
      ...(along ? { past: past(parameters) } : {}),
      ...Object.fromEntries(
        ["value_name", "unit"]
          .filter((key) => form.elements[key]?.value.trim())
          .map((key) => [key, form.elements[key].value.trim()]),
      ),
    }).catch((error) => {
      throw new Wrong(error.message, blamed(error, constraints.length > 0));
    });
    location.assign(`/studies/${made.key}/lab`);
  } catch (error) {
    complain(form, error);
  }
});
more();
if (source)
  fill()
    .catch((error) => complain(form, error))
    .finally(shown);
shown();
