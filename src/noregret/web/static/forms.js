// The forms of a study: sent as JSON, answered by a message, and the page swaps what has changed.

import { Wrong, call, clear, complain, numerals, post, say, swap } from "./page.js";

const isNumber = (field) => ["number", "int"].includes(field.dataset.type);

function read(field, understood) {
  if (field.type === "checkbox") return field.checked || undefined;
  const text = field.value.trim();
  if (text === "") return undefined;
  if (field.dataset.type === "json") return JSON.parse(text);
  if (!isNumber(field)) return text;
  const { value } = understood.get(field),
    { low, high } = field.dataset;
  if (field.dataset.type === "int" && !Number.isInteger(value))
    throw new Wrong(`A whole number is needed, not ${text}.`, field);
  if (field.dataset.positive !== undefined && value <= 0)
    throw new Wrong("It must be more than 0: leave it empty if it is not known.", field);
  if (low !== undefined && (value < Number(low) || value > Number(high)))
    throw new Wrong(`${text} is outside ${Number(low)} to ${Number(high)}.`, field);
  return value;
}

async function bodyOf(form, button) {
  const state = button?.name === "state" ? button.value : "complete",
    failed = state === "failed",
    measured = state === "complete"; // else there is no value
  const body = measured ? {} : { state },
    params = {},
    nested = {};
  const fields = [...form.elements].filter(
    (field) =>
      field.name &&
      field.tagName !== "BUTTON" &&
      !field.disabled &&
      !(!measured && ["value", "noise_std"].includes(field.name)) &&
      !(!measured && field.dataset.outcome !== undefined) &&
      !(state === "withdrawn" && field.dataset.param !== undefined) &&
      !(!failed && field.name === "transient"),
  );
  const understood = await numerals(fields.filter((f) => isNumber(f) && f.value.trim() !== ""));
  for (const field of fields) {
    const value = read(field, understood);
    if (value === undefined) continue;
    const noise = understood.get(field)?.noise_std ?? undefined;
    if (noise !== undefined && !(noise > 0)) throw new Wrong("The noise must be more than 0.", field);
    if (field.dataset.param !== undefined) params[field.dataset.param] = value;
    else if (field.dataset.outcome !== undefined)
      (nested.outcomes ??= {})[field.dataset.outcome] = noise === undefined ? value : [value, noise];
    else if (field.dataset.context !== undefined)
      (nested.context ??= {})[field.dataset.context] = value;
    else if (failed && field.name === "note") body.reason = value;
    else if (field.name === "noise_std" && body.noise_std !== undefined)
      throw new Wrong("The noise is also given with the value: enter it once.", field);
    else body[field.name] = value;
    if (noise !== undefined && field.name === "value") body.noise_std = noise;
  }
  Object.assign(body, nested);
  if (!form.dataset.nest || state === "withdrawn") return body;
  if (!form.dataset.asked) return { ...body, [form.dataset.nest]: params };
  const asked = JSON.parse(form.dataset.asked); // what was run is sent if it is something else
  return Object.entries(params).some(([name, value]) => asked[name] !== value)
    ? { ...body, [form.dataset.nest]: params }
    : body;
}

// What was understood of a value: "Saved 41.5 ± 0.2 %."
function saved(made, form) {
  if (made?.state === "withdrawn") return "The result is struck out.";
  if (typeof made?.value !== "number") return "Saved.";
  const noise = made.noise_std === null ? "" : ` ± ${made.noise_std}`,
    unit = form.elements.value?.dataset.unit;
  return `Saved ${made.value}${noise}${unit ? ` ${unit}` : ""}.`;
}

// Inputs that exist only for some options of a choice are there only then.
function existing(form) {
  const field = (name) => form.querySelector(`[data-param="${CSS.escape(name)}"]`);
  const holds = ([name, options]) => options.includes(JSON.parse(field(name).value));
  for (const label of form.querySelectorAll("label[data-exists]")) {
    const gone = !JSON.parse(label.dataset.exists).every(holds);
    label.hidden = gone;
    label.querySelector("[data-param]").disabled = gone;
  }
}

document.querySelectorAll("form").forEach(existing);
document.addEventListener("change", ({ target }) => target.form && existing(target.form));
document.addEventListener("reset", ({ target }) => setTimeout(() => existing(target)));
const opened = ({ target }) => target.closest("form") && existing(target.closest("form"));
document.addEventListener("toggle", opened, true); // of an experiment that came later

async function guarded(form, action) {
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((button) => {
    button.disabled = true;
  });
  clear(form);
  try {
    await action();
  } catch (error) {
    buttons.forEach((button) => {
      button.disabled = false;
    });
    complain(form, error);
  } finally {
    buttons.forEach((button) => {
      button.disabled = false;
    });
  }
}

// Sends a file or pasted rows; where some are in the study already, a dialog asks what to do.
async function upload(form, known) {
  const rows = form.elements.rows.value,
    file = form.elements.file.files[0];
  if (!file && !rows.trim()) throw new Wrong("Choose a file, or paste rows.", form.elements.file);
  if (file && rows.trim()) throw new Wrong("There is a file too: take one.", form.elements.rows);
  const query = new URLSearchParams({ known, file: file ? file.name.slice(-200) : "pasted rows" });
  try {
    const done = await call(`${form.dataset.upload}?${query}`, {
      method: "POST",
      headers: { "Content-Type": "text/csv" },
      body: file ?? rows,
    });
    const others = done.attributes.length ? ` Kept with them: ${done.attributes.join(", ")}.` : "";
    say(`${done.imported} trials imported.${others}`);
    form.reset();
    return true;
  } catch (error) {
    if (!/rows are in the study already/.test(error.message))
      throw new Wrong(error.message, file ? form.elements.file : form.elements.rows);
    const dialog = document.getElementById("known");
    dialog.querySelector("[data-what]").textContent = `${error.message.split(":")[0]}.`;
    dialog.showModal();
    return false;
  }
}

function uploadAgain(button) {
  const form = document.querySelector("form[data-upload]");
  button.closest("dialog").close();
  return guarded(form, async () => {
    if (await upload(form, button.dataset.known)) await swap();
  });
}

async function takeBack(button) {
  const api = document.querySelector("form[data-upload]").dataset.upload;
  button.disabled = true;
  try {
    const gone = await post(api.replace(/import$/, "take-back"), { label: button.dataset.takeBack });
    say(`${gone.length} trials taken back.`);
    button.blur();
    await swap();
  } catch (error) {
    button.disabled = false;
    say(error.message);
  }
}

// The dialog with everything that a trial has.
function correct(button) {
  const dialog = document.getElementById("correct"),
    form = dialog.querySelector("form"),
    { correct: number, value, noise, note, point } = button.dataset;
  form.dataset.post = `${form.dataset.base}${number}/correct`;
  form.dataset.asked = point;
  dialog.querySelector("h2").textContent = `Correct the result of trial ${number}`;
  form.reset();
  clear(form);
  form.elements.value.value = value;
  form.elements.noise_std.value = noise;
  form.elements.note.value = note;
  const params = JSON.parse(point),
    outcomes = JSON.parse(button.dataset.outcomes),
    stds = JSON.parse(button.dataset.outcomeNoise);
  for (const field of form.querySelectorAll("[data-param]")) {
    const now = params[field.dataset.param];
    if (field.tagName !== "SELECT") field.value = now;
    else for (const option of field.options) option.selected = JSON.parse(option.value) === now;
  }
  for (const field of form.querySelectorAll("[data-outcome]")) {
    const name = field.dataset.outcome,
      std = stds[name] === undefined ? "" : ` ± ${stds[name]}`;
    field.value = outcomes[name] === undefined ? "" : `${outcomes[name]}${std}`;
  }
  existing(form);
  dialog.showModal();
  form.elements.value.select();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.deleteForm !== undefined) {
    event.preventDefault();
    guarded(form, async () => {
      await call(form.dataset.deleteForm, { method: "DELETE" });
      location.assign("/");
    });
    return;
  }
  if (form.dataset.attach !== undefined) {
    event.preventDefault();
    guarded(form, async () => {
      const file = form.elements.file.files[0];
      await call(form.dataset.attach + encodeURIComponent(file.name), {
        method: "PUT",
        headers: { "Content-Type": "application/octet-stream" },
        body: file,
      });
      location.reload();
    });
    return;
  }
  if (form.dataset.post === undefined && form.dataset.upload === undefined) return;
  event.preventDefault();
  guarded(form, async () => {
    if (form.dataset.upload) {
      if (!(await upload(form, "refuse"))) return;
    } else {
      const made = await post(form.dataset.post, await bodyOf(form, event.submitter));
      say(
        Array.isArray(made)
          ? made.length > 1
            ? `${made.length} experiments are ready.`
            : `Experiment ${made[0].number} is ready.`
          : saved(made, form),
      );
      if (form.id !== "ask" && form.dataset.keep === undefined) form.reset();
    }
    form.closest("dialog")?.close();
    document.activeElement?.blur();
    await swap();
    if (form.id === "ask") document.querySelector(".experiment:last-of-type input")?.focus();
  });
});

// A button's request about a trial; words: what is said when it is done, from the answer.
async function settle(button, number, action, body, words) {
  const api = location.pathname.replace(/\/lab$/, "").replace(/^\/studies/, "/api/studies");
  button.disabled = true;
  try {
    say(words(await post(`${api}/trials/${number}/${action}`, body)));
    button.blur();
    await swap();
  } catch (error) {
    say(error.message);
  } finally {
    button.disabled = false;
  }
}

function withdraw(button) {
  const { withdraw: then, number } = button.dataset;
  const later = `Experiment ${number} is back in the queue.`;
  const gone = `Experiment ${number} is withdrawn.`;
  return settle(button, number, "withdraw", { then }, () => (then === "later" ? later : gone));
}

function retry(button) {
  const number = button.dataset.retry;
  const words = (made) => `Experiment ${made.number} repeats ${number} and is in the queue.`;
  return settle(button, number, "retry", {}, words);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { copy, print } = button.dataset;
  if (copy) {
    const rows = [...document.querySelectorAll(`#${copy} .params div`)].map(
      (row) => `${row.children[0].textContent}: ${row.children[1].textContent}`,
    );
    await navigator.clipboard.writeText(rows.join("\n")).then(
      () => say("Copied."),
      () => say("The browser does not allow copying here."),
    );
  } else if (print) {
    document.getElementById(print).classList.add("printed");
    document.body.classList.add("printing");
    window.print();
    document.body.classList.remove("printing");
    document.getElementById(print).classList.remove("printed");
  } else if (button.dataset.correct !== undefined) {
    correct(button);
  } else if (button.dataset.removeFile) {
    await call(button.dataset.removeFile, { method: "DELETE" }).then(
      () => location.reload(),
      (error) => say(error.message),
    );
  } else if (button.dataset.known) {
    await uploadAgain(button);
  } else if (button.dataset.takeBack !== undefined) {
    await takeBack(button);
  } else if (button.dataset.withdraw) {
    await withdraw(button);
  } else if (button.dataset.retry) {
    await retry(button);
  } else if (button.dataset.delete !== undefined) {
    document.getElementById("delete").showModal();
  } else if (button.dataset.close !== undefined) {
    button.closest("dialog").close();
  }
});
