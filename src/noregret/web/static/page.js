// What every page shares: talking to the API, messages, and swapping what has changed without touching what a person is typing.

export const csrf = document.querySelector('meta[name="csrf-token"]').content;

export function say(text, bad = false) {
  const line = document.createElement("p");
  line.textContent = text;
  line.classList.toggle("bad", bad);
  document.getElementById("messages").append(line);
  setTimeout(() => line.remove(), bad ? 12000 : 4000);
}

export async function call(address, options = {}) {
  const answer = await fetch(address, { credentials: "same-origin", ...options, headers: { "X-CSRF-Token": csrf, ...options.headers } });
  if (answer.status === 204) return null;
  const body = await answer.json().catch(() => ({ detail: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(body.detail || `the server answered ${answer.status}`);
  return body;
}

export const post = (address, body) =>
  call(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// -- live --

const live = document.getElementById("live");
const page = document.body.dataset;
let swapping = null;

export function swap() {
  swapping ??= swapNow().finally(() => { swapping = null; });
  return swapping;
}

async function swapNow() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (!now) continue;
    if (old.dataset.live === "each") swapEach(old, now);
    else if (old.innerHTML !== now.innerHTML && !old.contains(document.activeElement)) old.replaceChildren(...now.childNodes);
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
    const behind = seen.version !== page.version || (page.model !== undefined && seen.model && seen.model !== page.model);
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

document.getElementById("logout")?.addEventListener("click", async () => {
  await call("/logout", { method: "POST" });
  location.assign("/login");
});
