// The form for a new study.

import { post, say } from "./page.js";

const form = document.getElementById("new"), inputs = document.getElementById("inputs");

const number = (text, what) => {
  const value = Number(text.trim().replace(",", "."));
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`${what} needs a number, not “${text}”`);
  return value;
};
const scalar = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

function more() {
  inputs.append(document.getElementById("input").content.cloneNode(true));
  return inputs.lastElementChild;
}

function shown() {
  const listed = form.elements.space.value === "candidates";
  document.getElementById("box").hidden = listed;
  document.getElementById("list").hidden = !listed;
  inputs.querySelectorAll("[data-field=name]").forEach((field) => { field.required = !listed; });
  for (const row of form.querySelectorAll("[data-for]")) row.hidden = !row.dataset.for.split(" ").includes(form.elements.strategy.value);
  for (const input of inputs.children) {
    const choice = input.querySelector("[data-field=kind]").value === "choice";
    input.querySelectorAll("[data-range]").forEach((part) => { part.hidden = choice; });
    input.querySelector("[data-options]").hidden = !choice;
  }
}

function parameter(input) {
  const field = (name) => input.querySelector(`[data-field=${name}]`);
  const name = field("name").value.trim(), kind = field("kind").value;
  if (kind === "choice") return { kind, name, options: field("options").value.split(",").map((each) => scalar(each.trim())) };
  return { kind, name, low: number(field("low").value, name), high: number(field("high").value, name), log: field("log").checked };
}

// Fields with commas or line breaks stand in double quotes, as in every CSV file.
function table(text) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i], row = rows.at(-1);
    if (quoted && c === '"' && text[i + 1] === '"') { row[row.length - 1] += c; i += 1; }
    else if (c === '"') quoted = !quoted;
    else if (c === "," && !quoted) row.push("");
    else if (c === "\n" && !quoted) rows.push([""]);
    else if (c !== "\r") row[row.length - 1] += c;
  }
  return rows.map((row) => row.map((each) => each.trim())).filter((row) => row.some((each) => each !== ""));
}

function designs(text) {
  const [names, ...rows] = table(text);
  if (!names || !rows.length) throw new Error("a list of designs needs a line of names and at least one design");
  return rows.map((row) => {
    if (row.length !== names.length) throw new Error(`“${row.join(", ")}” has ${row.length} entries, there are ${names.length} names`);
    return Object.fromEntries(names.map((name, i) => [name, scalar(row[i])]));
  });
}

function strategy() {
  const kind = form.elements.strategy.value, field = (name) => form.elements[name].value;
  if (kind === "rigorous") return { kind, noise_bound: number(field("noise_bound"), "the noise bound"), norm_bound: number(field("norm_bound"), "the norm bound"), offset: number(field("offset"), "the offset"), delta: number(field("delta"), "the failure probability") };
  if (kind === "random" || field("noise_std").trim() === "") return { kind };
  return { kind, noise_std: number(field("noise_std"), "the noise") };
}

form.addEventListener("change", shown);
form.addEventListener("click", (event) => {
  if (event.target.id === "more") more().querySelector("input").focus();
  if (event.target.dataset.remove !== undefined && inputs.children.length > 1) event.target.closest(".entry").remove();
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const { name, goal, space, seed } = form.elements;
    const made = await post("/api/studies", {
      name: name.value, goal: goal.value, seed: number(seed.value, "the seed"), strategy: strategy(),
      space: space.value === "box" ? { kind: "box", parameters: [...inputs.children].map(parameter) } : { kind: "candidates", rows: designs(form.elements.designs.value) },
    });
    location.assign(`/studies/${made.key}/lab`);
  } catch (error) {
    say(error.message, true);
  }
});
more();
shown();
