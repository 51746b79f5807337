// What every page shares: talking to the API, messages, and swapping what has changed without
// touching what a person is typing.

export const csrf = document.querySelector('meta[name="csrf-token"]').content;

// In the bar at the top, which covers nothing.
export function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  document.getElementById("messages").replaceChildren(line);
  setTimeout(() => line.remove(), 6000);
}

// -- what is wrong, at the field that is --

export class Wrong extends Error {
  constructor(message, field = null) {
    super(message);
    this.field = field;
  }
}

let complaints = 0;

export function clear(form) {
  form.querySelectorAll(".error").forEach((line) => line.remove());
  form.querySelectorAll("[aria-invalid]").forEach((field) => {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  });
}

// At its field, or above the form's buttons if no field is to blame.
export function complain(form, error) {
  const field = error.field ?? blamed(form, error.message);
  const line = document.createElement("p");
  line.className = "error";
  line.id = `error-${(complaints += 1)}`;
  line.setAttribute("role", "alert");
  line.textContent = error.message;
  if (!field) return form.querySelector(".tools:last-of-type, button").before(line);
  const fold = field.closest("details");
  if (fold) fold.open = true;
  (field.closest("label") ?? field).append(line);
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", line.id);
  field.focus();
}

// The server names what it refuses: a field of the body, or an input in quotes.
function blamed(form, message) {
  const fields = [...form.elements].filter(
    (field) => field.name && field.tagName !== "BUTTON" && !field.closest("[hidden]"),
  );
  const named = (field) => field.dataset.param ?? field.dataset.column ?? field.name;
  return (
    fields.find(
      (field) =>
        message.startsWith(`body.${named(field)}:`) ||
        message.includes(`'${named(field)}'`) ||
        message.includes(`"${named(field)}"`),
    ) ??
    fields.find((field) => field.type === "file") ??
    null
  );
}

// Numbers as people write them, read by the server: its grammar is the only one. Of each field what
// was understood; a field that holds no number is complained about.
export async function numerals(fields) {
  const texts = fields.map((field) => ({
    text: field.value.trim(),
    unit: field.dataset.unit ?? "",
    noise: field.dataset.noisy !== undefined,
  }));
  if (texts.length === 0) return new Map();
  const { numbers } = await post("/api/numbers", { texts });
  const wrong = numbers.findIndex(({ error }) => error !== null);
  if (wrong >= 0) throw new Wrong(numbers[wrong].error, fields[wrong]);
  return new Map(fields.map((field, i) => [field, numbers[i]]));
}

// Columns of texts, each as numbers if all of it are.
export const columns = async (texts) => (await post("/api/numbers", { columns: texts })).columns;

export async function call(address, options = {}) {
  const answer = await fetch(address, {
    credentials: "same-origin",
    ...options,
    headers: { "X-CSRF-Token": csrf, ...options.headers },
  });
  if (answer.status === 204) return null;
  const body = await answer
    .json()
    .catch(() => ({ detail: `the server answered ${answer.status}` }));
  if (!answer.ok)
    throw Object.assign(new Wrong(body.detail || `the server answered ${answer.status}`), {
      status: answer.status,
    });
  return body;
}

export const post = (address, body) =>
  call(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

// -- times, as the clock on the wall has them --

function localise(root) {
  const now = new Date();
  for (const time of root.querySelectorAll("time[datetime]")) {
    const then = new Date(time.dateTime);
    if (Number.isNaN(then.getTime())) continue;
    const clock = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const day = then.toLocaleDateString([], {
      day: "numeric",
      month: "short",
      ...(then.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
    });
    time.textContent =
      then.toDateString() === now.toDateString() ? `today, ${clock}` : `${day}, ${clock}`;
    time.title = then.toLocaleString();
  }
}
localise(document);

// -- live --

const live = document.getElementById("live");
const page = document.body.dataset;
let swapping = null;

export function swap() {
  swapping ??= swapNow().finally(() => {
    swapping = null;
  });
  return swapping;
}

async function swapNow() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  // with the first result the page has more to show
  if (fresh.body.dataset.blank !== page.blank) return location.reload();
  localise(fresh);
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (!now) continue;
    if (old.dataset.live === "each") swapEach(old, now);
    else if (old.innerHTML !== now.innerHTML && !old.contains(document.activeElement))
      old.replaceChildren(...now.childNodes);
  }
  Object.assign(page, fresh.body.dataset);
  document.dispatchEvent(new CustomEvent("changed"));
}

// Children that are still there stay as they are, with whatever was typed into them.
function swapEach(old, now) {
  const known = new Map([...old.children].map((child) => [child.id, child]));
  old.replaceChildren(...[...now.children].map((child) => known.get(child.id) ?? child));
}

async function watch() {
  if (document.hidden) return;
  try {
    const seen = await call(page.watch);
    const behind =
      seen.version !== page.version ||
      (page.model !== undefined && seen.model && seen.model !== page.model);
    live.textContent = seen.fitting ? "fitting the model…" : "live";
    if (behind) await swap();
  } catch {
    live.textContent = "not connected";
  }
}

if (page.watch) {
  const again = () => watch().then(() => setTimeout(again, 2000));
  if (document.readyState === "complete") again();
  else addEventListener("load", again); // what the page shows at once comes first
} else if (page.refresh) {
  setInterval(() => document.hidden || swap().catch(() => {}), 1000 * page.refresh);
}

document.addEventListener("change", ({ target }) => {
  if (target.dataset.submit === undefined) return;
  location.assign(`?${new URLSearchParams(new FormData(target.form))}#trials`);
});

document.getElementById("logout")?.addEventListener("click", async () => {
  await call("/logout", { method: "POST" });
  location.assign("/login");
});
