// The laboratory's forms: sent as JSON, answered by a message, and the page swaps what has changed.

import { call, post, say, swap } from "./page.js";

function read(field) {
  const text = field.value.trim();
  if (text === "") return undefined;
  if (field.dataset.type === "json") return JSON.parse(text);
  if (field.dataset.type !== "number" && field.dataset.type !== "int") return text;
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value)) throw new Error(`“${text}” is not a number`);
  return value;
}

function bodyOf(form, button) {
  if (button?.name === "state" && button.value === "failed") return { state: "failed" };
  const body = {}, params = {};
  for (const field of form.elements) {
    if (!field.name || field.tagName === "BUTTON") continue;
    const value = read(field);
    if (value === undefined) continue;
    if (field.dataset.param !== undefined) params[field.dataset.param] = value;
    else body[field.name] = value;
  }
  return form.dataset.nest ? { ...body, [form.dataset.nest]: params } : body;
}

async function guarded(form, action) {
  const buttons = [...form.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await action();
  } catch (error) {
    say(error.message, true);
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.post === undefined && form.dataset.upload === undefined) return;
  event.preventDefault();
  guarded(form, async () => {
    if (form.dataset.upload) {
      const file = form.elements.file.files[0];
      const done = await call(form.dataset.upload, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
      say(`${done.imported} trials imported.`);
      form.reset();
    } else {
      const made = await post(form.dataset.post, bodyOf(form, event.submitter));
      say(Array.isArray(made) ? (made.length > 1 ? `${made.length} experiments are ready.` : `Experiment ${made[0].number} is ready.`) : "Saved.");
      if (form.id !== "ask") form.reset();
    }
    form.closest("dialog")?.close();
    document.activeElement?.blur();
    await swap();
    if (form.id === "ask") document.querySelector(".experiment:last-of-type input")?.focus();
  });
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { copy, print, correct, value } = button.dataset;
  if (copy) {
    const rows = [...document.querySelectorAll(`#${copy} .params div`)].map((row) => `${row.children[0].textContent}: ${row.children[1].textContent}`);
    await navigator.clipboard.writeText(rows.join("\n")).then(() => say("Copied."), () => say("The browser does not allow copying here.", true));
  } else if (print) {
    document.getElementById(print).classList.add("printed");
    document.body.classList.add("printing");
    window.print();
    document.body.classList.remove("printing");
    document.getElementById(print).classList.remove("printed");
  } else if (correct !== undefined) {
    const dialog = document.getElementById("correct"), form = dialog.querySelector("form");
    form.dataset.post = `${form.dataset.base}${correct}/correct`;
    dialog.querySelector("h2").textContent = `Correct the result of trial ${correct}`;
    form.reset();
    form.elements.value.value = value;
    dialog.showModal();
    form.elements.value.select();
  } else if (button.dataset.close !== undefined) {
    button.closest("dialog").close();
  }
});
