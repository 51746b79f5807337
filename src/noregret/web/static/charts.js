// Draws the charts from the API's columns. Names are data: Plotly reads some tags in labels, so they are escaped.

import { call, say } from "./page.js";

const plotly = new Promise((done) => {
  const script = document.getElementById("plotly");
  if (window.Plotly) done(window.Plotly);
  else script.addEventListener("load", () => done(window.Plotly));
});
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const page = document.body.dataset;

// The first six are chosen by hand; beyond, hues evenly spaced, neighbours told apart by lightness too: no two are alike.
const NAMED = 6;
export function series(index, total = NAMED) {
  if (total <= NAMED) return color(`series-${1 + index}`);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const hue = Math.round((360 * index) / total), light = (dark ? [62, 78, 50] : [38, 52, 26])[index % 3];
  return hex(hue, 0.68, light / 100);
}

function hex(hue, saturation, light) {
  const spread = saturation * Math.min(light, 1 - light);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

function layout(extra = {}) {
  const axis = { gridcolor: color("line"), zerolinecolor: color("line"), linecolor: color("line"), automargin: true, title: { standoff: 8 } };
  const { xaxis, yaxis, ...rest } = extra;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: color("ink"), size: 12.5, family: "inherit" },
    margin: { l: 48, r: 12, t: 10, b: 36 }, showlegend: false, hovermode: "closest", dragmode: false,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11.5 } },
    hoverlabel: { bgcolor: color("raised"), bordercolor: color("line"), font: { color: color("ink") } },
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis }, ...rest,
  };
}

async function draw(place, traces, { listed = false, ...extra }) {
  const library = await plotly;
  legend(place, listed ? traces.filter((trace) => trace.showlegend !== false) : []);
  await library.react(place, traces, layout(extra), { displayModeBar: false, responsive: true, doubleClick: false });
}

// Many names stand below the drawing, where they wrap; in it they would leave no room on a phone.
function legend(place, traces) {
  place.parentElement.querySelector(".legend")?.remove();
  if (!traces.length) return;
  const list = document.createElement("ul");
  list.className = "legend";
  list.append(...traces.map((trace) => {
    const item = document.createElement("li"), swatch = document.createElement("span");
    swatch.style.backgroundColor = trace.line.color;
    item.append(swatch, new DOMParser().parseFromString(trace.name, "text/html").body.textContent);
    return item;
  }));
  place.after(list);
}

const line = (x, y, name, index, total) => ({ x, y, name: plain(name), type: "scatter", mode: "lines", line: { color: series(index, total), width: 1.75 } });
const trials = { title: { text: "trial" } };

const builders = {
  convergence(c) {
    const failed = c.number.filter((_, i) => c.state[i] === "failed");
    const level = failed.map(() => 0.02);
    const [bottom, top] = range(c), off = (v) => v !== null && (v < bottom || v > top);
    const inside = c.value.map((v) => (off(v) ? null : v)), far = c.number.filter((_, i) => off(c.value[i]));
    const banded = c.upper.some((v) => v !== null);
    return [[
      ...(banded ? [
        { x: c.number, y: c.lower, type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
        { x: c.number, y: c.upper, type: "scatter", mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: color("band"), name: "range for the best", hoverinfo: "skip" },
      ] : []),
      { x: c.number, y: inside, type: "scatter", mode: "markers", name: "observed", marker: { color: color("faint"), size: 5, opacity: 0.75 } },
      { x: far, y: far.map((n) => (c.value[c.number.indexOf(n)] > top ? top : bottom)), text: far.map((n) => `trial ${n}: ${c.value[c.number.indexOf(n)]}`), hoverinfo: "text", type: "scatter", mode: "markers", name: "far off", showlegend: far.length > 0, marker: { color: color("faint"), size: 6, symbol: far.map((n) => (c.value[c.number.indexOf(n)] > top ? "triangle-up" : "triangle-down")) } },
      { ...line(c.number, c.best, "best so far", 0), line: { color: series(0), width: 2.25, shape: "hv" } },
      ...(failed.length ? [{ x: failed, y: level, yaxis: "y2", type: "scatter", mode: "markers", name: "failed", marker: { symbol: "x", color: color("bad"), size: 7 }, hovertemplate: "trial %{x} failed<extra></extra>" }] : []),
    ], { showlegend: true, xaxis: trials, yaxis: { title: { text: plain(page.quantity) }, range: [bottom - 0.04 * (top - bottom), top + 0.04 * (top - bottom)] }, yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true } }];
  },
  coverage(c) {
    return [[
      { x: c.number, y: c.least, type: "scatter", mode: "lines", line: { width: 0 }, fill: "tozeroy", fillcolor: color("band"), name: "too few", hoverinfo: "skip" },
      { ...line(c.number, c.nominal, "expected", 0), line: { color: color("faint"), dash: "dash", width: 1.25 } },
      line(c.number, c.coverage, "in their range", 0),
    ], { showlegend: true, xaxis: { title: { text: "trial" } }, yaxis: { range: [0, 1.03], tickformat: ".0%" } }];
  },
  residuals(c) {
    return [[{
      x: c.number, y: c.residual, type: "scatter", mode: "markers", hovertemplate: "trial %{x}: %{y:.2f}<extra></extra>",
      marker: { size: 7, color: c.inside.map((inside) => (inside ? "rgba(0,0,0,0)" : color("bad"))), line: { width: 1.25, color: c.inside.map((inside) => (inside ? series(0) : color("bad"))) } },
    }], { xaxis: { title: { text: "trial" } }, yaxis: { title: { text: "standard deviations" }, zeroline: true }, shapes: [-1.645, 1.645].map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: color("faint"), dash: "dot", width: 1 } })) }];
  },
  lengthscales(c) {
    const traces = [], keys = Object.keys(c).filter((key) => key.endsWith(" in force"));
    keys.forEach((key, index) => {
      const name = key.slice(0, -" in force".length);
      traces.push({ ...line(c.number, c[key], short(name), index, keys.length), legendgroup: key });
      if (c[`${name} fitted`]) traces.push({ ...line(c.number, c[`${name} fitted`], `${short(name)}, fitted`, index), line: { color: series(index, keys.length), dash: "dot", width: 1.5 }, showlegend: false, legendgroup: key });
    });
    return [traces, { listed: keys.length > NAMED, showlegend: keys.length <= NAMED, xaxis: { title: { text: "trial" } }, yaxis: logAxis(Object.keys(c).filter((key) => key !== "number").map((key) => c[key])) }];
  },
  scaling: (c) => several(c, ["h", "g", "b"], "log"),
  width: (c) => several(c, ["beta_sqrt", "norm_bound"], "log", { beta_sqrt: "β^½", norm_bound: "norm bound" }),
  information: (c) => several(c, ["information_gain"], "linear"),
  noise: (c) => several(c, ["noise_std"], "linear"),
};

function several(c, keys, type, names = {}) {
  const there = keys.filter((key) => c[key].some((value) => value !== null));
  return [there.map((key, index) => line(c.number, c[key], names[key] ?? key, index)), { showlegend: keys.length > 1, xaxis: { title: { text: "trial" } }, yaxis: type === "log" ? logAxis(there.map((key) => c[key])) : { rangemode: "tozero" } }];
}

const short = (text) => (text.length > 18 ? `${text.slice(0, 16)}…` : text);

// What differs among good values is what a person looks for: values and bands far beyond the better three quarters do not set the scale.
function range(c) {
  const values = c.value.filter((v) => v !== null).sort((a, b) => a - b), n = values.length;
  if (!n) return [0, 1];
  const best = c.best.findLast((v) => v !== null), up = best >= values[n - 1];
  const typical = Math.abs(best - values[up ? Math.floor(n / 4) : Math.ceil((3 * (n - 1)) / 4)]) || values[n - 1] - values[0] || Math.abs(best) || 1;
  const far = values[n - 1] - values[0] > 5 * typical;
  const worst = far ? best + (up ? -2 : 2) * typical : values[up ? 0 : n - 1];
  const ends = [...c.lower, ...c.upper].filter((v) => v !== null);
  const beyond = up ? Math.min(Math.max(best, ...ends), best + typical) : Math.max(Math.min(best, ...ends), best - typical);
  return up ? [worst, beyond] : [beyond, worst];
}

// 1, 2, 5 of every decade, or the decades alone if there are many.
function logAxis(columns) {
  const all = columns.flat().filter((v) => v > 0), low = Math.min(...all), high = Math.max(...all);
  const steps = high / low < 40 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)) - 1; k <= Math.ceil(Math.log10(high)); k += 1) ticks.push(...steps.map((step) => Number(`${step}e${k}`)));
  return { type: "log", tickvals: ticks, ticktext: ticks.map(String) };
}

function nothing(place, empty) {
  place.classList.toggle("nothing", empty);
  if (empty) window.Plotly?.purge(place);
  return empty;
}

async function drawChart(figure) {
  const data = await call(figure.dataset.src);
  figure.querySelector(".words").textContent = data.text + (data.rows > data.columns.number.length ? ` The drawing shows every ${Math.ceil(data.rows / data.columns.number.length)}th of ${data.rows} points, the CSV file all.` : "");
  const place = figure.querySelector(".plot");
  place.dataset.points = data.rows;
  if (nothing(place, !data.rows || Object.entries(data.columns).every(([key, column]) => ["number", "state"].includes(key) || column.every((v) => v === null)))) return;
  await draw(place, ...builders[figure.dataset.chart](data.columns));
}

// -- slices --

let slice = null;

function axis(values, name) {
  const numbers = values.every((v) => typeof v === "number");
  const sorted = numbers ? [...values].sort((a, b) => a - b) : [];
  const log = numbers && sorted[0] > 0 && values.length > 2 && Math.abs(values[1] / values[0] - values[2] / values[1]) < 1e-6 && values[1] !== values[0];
  return { title: { text: plain(short(name)) }, type: numbers ? (log ? "log" : "linear") : "category" };
}

const label = (values) => (values.every((v) => typeof v === "number") ? values : values.map((v) => plain(v)));

function lineSlice(s, level = Math.min(...s.low)) {
  const x = label(s.xs), marks = s.kind === "list" || typeof s.xs[0] !== "number";
  const told = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] !== null);
  const open = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] === null);
  const traces = marks
    ? [{ x, y: s.mean, type: "scatter", mode: "markers", name: "expected, and its range", marker: { color: series(0), size: 8, symbol: "line-ew-open" }, error_y: { type: "data", symmetric: false, array: s.high.map((v, i) => v - s.mean[i]), arrayminus: s.mean.map((v, i) => v - s.low[i]), color: series(0), thickness: 1.25 } }]
    : [
        { x, y: s.low, type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
        { x, y: s.high, type: "scatter", mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: color("band"), name: "range", hoverinfo: "skip" },
        line(x, s.mean, "expected", 0),
      ];
  if (told.length) traces.push({ x: label(told.map((i) => s.data.x[i])), y: told.map((i) => s.data.value[i]), text: told.map((i) => `trial ${s.data.number[i]}`), type: "scatter", mode: "markers", name: "trials", marker: { color: color("ink"), size: 6, opacity: told.map((i) => faded(s.data.weight[i])) } });
  if (open.length) traces.push({ x: label(open.map((i) => s.data.x[i])), y: open.map(() => level), type: "scatter", mode: "markers", name: "under way", marker: { symbol: "diamond", color: series(1), size: 9, opacity: open.map((i) => faded(s.data.weight[i])) } });
  if (s.next !== null && s.next !== undefined) traces.push({ x: label([s.next.x]), y: [level], type: "scatter", mode: "markers", name: "next", marker: { symbol: "triangle-up", color: series(1), size: 11 } });
  return [traces, { showlegend: true, xaxis: axis(s.xs, s.x), yaxis: { title: { text: plain(page.quantity) } } }];
}

// Off the slice a trial says less about it, and is drawn paler: by the model's own measure.
const faded = (weight) => Math.max(0.12, weight ?? 1);

function surfaceSlice(s, shown) {
  const [x, y] = [axis(s.xs, s.x), axis(s.ys, s.y)];
  const smooth = x.type !== "category" && y.type !== "category";
  const told = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] !== null);
  const open = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] === null);
  const traces = [
    { x: label(s.xs), y: label(s.ys), z: s[shown], type: smooth ? "contour" : "heatmap", colorscale: "Viridis", reversescale: false, contours: { coloring: "heatmap" }, line: { width: 0.5, color: "rgba(255,255,255,.35)" }, colorbar: { thickness: 12, outlinewidth: 0, len: 1 }, name: "", hovertemplate: "%{x}, %{y}: %{z:.4g}<extra></extra>" },
    { x: label(told.map((i) => s.data.x[i])), y: label(told.map((i) => s.data.y[i])), text: told.map((i) => `trial ${s.data.number[i]}: ${s.data.value[i]}`), hoverinfo: "text", type: "scatter", mode: "markers", name: "trials", marker: { color: "#fff", size: 7, opacity: told.map((i) => faded(s.data.weight[i])), line: { color: "#000", width: 1 } } },
    { x: label(open.map((i) => s.data.x[i])), y: label(open.map((i) => s.data.y[i])), type: "scatter", mode: "markers", name: "under way", marker: { symbol: "diamond", color: "#f0985a", size: 10, line: { color: "#000", width: 1 } } },
  ];
  if (s.next) traces.push({ x: label([s.next.x]), y: label([s.next.y]), type: "scatter", mode: "markers", name: "next", marker: { symbol: "triangle-up", color: "#f0985a", size: 12, line: { color: "#000", width: 1 } } });
  return [traces, { xaxis: x, yaxis: y }];
}

async function drawSlice(figure, fetchAgain = true) {
  const form = figure.querySelector("form"), words = figure.querySelector(".words");
  const { x, y, through, surface } = form.elements;
  if (fetchAgain) {
    const query = new URLSearchParams({ x: x.value });
    if (y?.value && y.value !== x.value) query.set("y", y.value);
    if (through?.value) query.set("through", through.value);
    slice = await call(`${figure.dataset.slice}?${query}`);
  }
  words.textContent = slice.error ?? describe(slice);
  document.getElementById("note-slice").textContent = (slice.error ? "" : legendOf(slice)) || "\u00a0";
  if (nothing(figure.querySelector(".plot"), Boolean(slice.error))) return;
  figure.querySelector(".plot").dataset.slice = slice.version;
  await draw(figure.querySelector(".plot"), ...(slice.kind === "surface" ? surfaceSlice(slice, surface.value) : lineSlice(slice)));
}

// -- every input by itself --

const overview = document.querySelector("[data-slices]");
let slices = [];

async function drawSlices() {
  const through = sliced?.querySelector("[name=through]")?.value;
  const found = await call(overview.dataset.slices + (through ? `?${new URLSearchParams({ through })}` : ""));
  slices = found.slices;
  // Means and the trials on a slice set the scale, not ranges far from all data: differences are to be seen.
  const ends = slices.flatMap((s) => [...s.mean, ...s.data.value.filter((v, i) => v !== null && s.data.weight[i] > 0.5)]);
  const low = Math.min(...ends), high = Math.max(...ends), room = 0.15 * (high - low || Math.abs(high) || 1);
  const range = [low - room, high + room];
  await Promise.all([...overview.querySelectorAll("figure")].map(async (figure, i) => {
    const s = slices[i], place = figure.querySelector(".plot");
    figure.querySelector(".words").textContent = s ? `From ${round(Math.min(...s.mean))} to ${round(Math.max(...s.mean))} is expected.` : found.error ?? "\u00a0";
    if (nothing(place, !s)) return;
    const [traces, extra] = lineSlice(s, low - 0.6 * room);
    place.dataset.slice = s.version;
    await draw(place, traces, { ...extra, showlegend: false, xaxis: { ...extra.xaxis, title: undefined }, yaxis: { range } });
  }));
}

// As many digits as the noise justifies, and one more.
function round(value) {
  if (!page.places) return Number(value.toPrecision(4));
  const places = Number(page.places) + 1;
  return Number(Number(value.toPrecision(6)).toFixed(Math.min(20, Math.max(0, places))));
}

function describe(s) {
  const means = s.mean.flat().filter((v) => v !== null), low = Math.min(...means), high = Math.max(...means);
  const along = s.kind === "surface" ? `${s.x} and ${s.y}` : s.x;
  const trials = `${s.near} ${s.near === 1 ? "trial" : "trials"}`;
  if (s.kind === "list") return `Over the designs, by ${along}: from ${round(low)} to ${round(high)} is expected. ${trials} so far.`;
  return `Along ${along}, all else as in trial ${s.through}${s.constrained ? " as far as the constraints allow" : ""}: from ${round(low)} to ${round(high)} is expected; ${trials} ${s.near === 1 ? "lies" : "lie"} near.`;
}

// What is drawn, and nothing that is not.
function legendOf(s) {
  const said = [], shown = s.data.value, off = s.data.weight.some((weight) => weight < 0.99);
  if (shown.some((v) => v !== null)) said.push(`dots are trials${off ? ", the paler the farther from here" : ""}`);
  if (shown.some((v) => v === null)) said.push("diamonds are under way");
  if (s.next) said.push("the triangle would be proposed next");
  return said.length ? `${said.join("; ").replace(/^./, (c) => c.toUpperCase())}.` : "";
}

function save(name, rows) {
  const quote = (v) => (typeof v === "string" ? `"${v.replaceAll('"', '""')}"` : v);
  const file = URL.createObjectURL(new Blob([rows.map((row) => row.map(quote).join(",")).join("\r\n")], { type: "text/csv" }));
  const anchor = Object.assign(document.createElement("a"), { href: file, download: name });
  anchor.click();
  URL.revokeObjectURL(file);
}

const COLUMNS = ["mean", "std", "low", "high"];

function slicesCsv() {
  if (!slices.length) return say("There is no slice to save yet.");
  save("slices.csv", [["input", "at", ...COLUMNS], ...slices.flatMap((s) => s.xs.map((x, i) => [s.x, x, ...COLUMNS.map((key) => s[key][i])]))]);
}

function sliceCsv() {
  if (!slice || slice.error) return say("There is no slice to save yet.");
  const head = [slice.x, ...(slice.kind === "surface" ? [slice.y] : []), ...COLUMNS];
  const rows = slice.kind === "surface"
    ? slice.ys.flatMap((y, j) => slice.xs.map((x, i) => [x, y, ...COLUMNS.map((key) => slice[key][j][i])]))
    : slice.xs.map((x, i) => [x, ...COLUMNS.map((key) => slice[key][i])]);
  save("slice.csv", [head, ...rows]);
}

// -- all of them --

const figures = [...document.querySelectorAll("[data-chart]")];
const sliced = document.querySelector("[data-slice]");
const quietly = (promise, figure) => promise.catch((error) => { figure.querySelector(".words").textContent = error.message; });

let fitted = null, overviewed = null;
function drawOverview() {
  const model = document.body.dataset.model;
  if (!overview?.open || !model || model === overviewed) return;
  overviewed = model;
  drawSlices().catch((error) => { overview.querySelector(".words").textContent = error.message; });
}

function drawAll() {
  // what is folded away is drawn when it is unfolded
  figures.filter((figure) => !figure.closest("details:not([open])")).forEach((figure) => quietly(drawChart(figure), figure));
  if (sliced && document.body.dataset.model && document.body.dataset.model !== fitted) {
    fitted = document.body.dataset.model;
    quietly(drawSlice(sliced), sliced);
  }
  drawOverview();
}
document.addEventListener("changed", drawAll);
document.getElementById("theory")?.addEventListener("toggle", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { fitted = overviewed = null; drawAll(); });
sliced?.querySelector("form").addEventListener("change", (event) => quietly(drawSlice(sliced, event.target.name !== "surface"), sliced));
sliced?.querySelector("form").addEventListener("change", (event) => {
  if (event.target.name !== "through") return;
  overviewed = null;
  drawOverview();
});
overview?.addEventListener("toggle", drawOverview);
overview?.querySelector("[data-slices-csv]").addEventListener("click", slicesCsv);
sliced?.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
sliced?.querySelector("[data-slice-csv]").addEventListener("click", sliceCsv);
drawAll();
