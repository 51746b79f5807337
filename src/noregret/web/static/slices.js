// What is expected along one input or two, all else held.

import { color, draw, line, nothing, plain, series, short } from "./drawing.js";
import { call, say } from "./page.js";

const page = document.body.dataset;
export const overview = document.querySelector("[data-slices]"); // every input by itself
export const sliced = document.querySelector("[data-slice]");

let slice = null;

export function axis(values, name) {
  const numbers = values.every((v) => typeof v === "number");
  const sorted = numbers ? [...values].sort((a, b) => a - b) : [];
  const log =
    numbers &&
    sorted[0] > 0 &&
    values.length > 2 &&
    Math.abs(values[1] / values[0] - values[2] / values[1]) < 1e-6 &&
    values[1] !== values[0];
  return {
    title: { text: plain(short(name)) },
    type: numbers ? (log ? "log" : "linear") : "category",
  };
}

export const label = (values) =>
  values.every((v) => typeof v === "number") ? values : values.map((v) => plain(v));

function lineSlice(s, level = Math.min(...s.low)) {
  const x = label(s.xs),
    marks = s.kind === "list" || typeof s.xs[0] !== "number";
  const told = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] !== null);
  const open = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] === null);
  const traces = marks
    ? [
        {
          x,
          y: s.mean,
          type: "scatter",
          mode: "markers",
          name: "expected, and its range",
          marker: { color: series(0), size: 8, symbol: "line-ew-open" },
          error_y: {
            type: "data",
            symmetric: false,
            array: s.high.map((v, i) => v - s.mean[i]),
            arrayminus: s.mean.map((v, i) => v - s.low[i]),
            color: series(0),
            thickness: 1.25,
          },
        },
      ]
    : [
        {
          x,
          y: s.low,
          type: "scatter",
          mode: "lines",
          line: { width: 0 },
          hoverinfo: "skip",
          showlegend: false,
        },
        {
          x,
          y: s.high,
          type: "scatter",
          mode: "lines",
          line: { width: 0 },
          fill: "tonexty",
          fillcolor: color("band"),
          name: "range",
          hoverinfo: "skip",
        },
        line(x, s.mean, "expected", 0),
      ];
  if (told.length)
    traces.push({
      x: label(told.map((i) => s.data.x[i])),
      y: told.map((i) => s.data.value[i]),
      text: told.map((i) => `trial ${s.data.number[i]}`),
      type: "scatter",
      mode: "markers",
      name: "trials",
      marker: { color: color("ink"), size: 6, opacity: told.map((i) => faded(s.data.weight[i])) },
    });
  if (open.length)
    traces.push({
      x: label(open.map((i) => s.data.x[i])),
      y: open.map(() => level),
      type: "scatter",
      mode: "markers",
      name: "running",
      marker: {
        symbol: "diamond",
        color: series(1),
        size: 9,
        opacity: open.map((i) => faded(s.data.weight[i])),
      },
    });
  if (s.next !== null && s.next !== undefined)
    traces.push({
      x: label([s.next.x]),
      y: [level],
      type: "scatter",
      mode: "markers",
      name: "next",
      marker: { symbol: "triangle-up", color: series(1), size: 11 },
    });
  return [
    traces,
    { showlegend: true, xaxis: axis(s.xs, s.x), yaxis: { title: { text: plain(page.quantity) } } },
  ];
}

// Off the slice a trial says less about it, and is drawn paler: by the model's own measure.
const faded = (weight) => Math.max(0.12, weight ?? 1);

function surfaceSlice(s, shown) {
  const [x, y] = [axis(s.xs, s.x), axis(s.ys, s.y)];
  const smooth = x.type !== "category" && y.type !== "category";
  const told = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] !== null);
  const open = s.data.number.map((_, i) => i).filter((i) => s.data.value[i] === null);
  const traces = [
    {
      x: label(s.xs),
      y: label(s.ys),
      z: s[shown],
      type: smooth ? "contour" : "heatmap",
      colorscale: "Viridis",
      reversescale: false,
      contours: { coloring: "heatmap" },
      line: { width: 0.5, color: "rgba(255,255,255,.35)" },
      colorbar: { thickness: 12, outlinewidth: 0, len: 1 },
      name: "",
      hovertemplate: "%{x}, %{y}: %{z:.4g}<extra></extra>",
    },
    {
      x: label(told.map((i) => s.data.x[i])),
      y: label(told.map((i) => s.data.y[i])),
      text: told.map((i) => `trial ${s.data.number[i]}: ${s.data.value[i]}`),
      hoverinfo: "text",
      type: "scatter",
      mode: "markers",
      name: "trials",
      marker: {
        color: "#fff",
        size: 7,
        opacity: told.map((i) => faded(s.data.weight[i])),
        line: { color: "#000", width: 1 },
      },
    },
    {
      x: label(open.map((i) => s.data.x[i])),
      y: label(open.map((i) => s.data.y[i])),
      type: "scatter",
      mode: "markers",
      name: "running",
      marker: { symbol: "diamond", color: "#f0985a", size: 10, line: { color: "#000", width: 1 } },
    },
  ];
  if (s.next)
    traces.push({
      x: label([s.next.x]),
      y: label([s.next.y]),
      type: "scatter",
      mode: "markers",
      name: "next",
      marker: {
        symbol: "triangle-up",
        color: "#f0985a",
        size: 12,
        line: { color: "#000", width: 1 },
      },
    });
  return [traces, { xaxis: x, yaxis: y }];
}

export async function drawSlice(figure, fetchAgain = true) {
  const form = figure.querySelector("form"),
    words = figure.querySelector(".words");
  const { x, y, through, surface } = form.elements;
  if (fetchAgain) {
    const query = new URLSearchParams({ x: x.value });
    if (y?.value && y.value !== x.value) query.set("y", y.value);
    if (through?.value) query.set("through", through.value);
    slice = await call(`${figure.dataset.slice}?${query}`);
  }
  words.textContent = slice.error ?? describe(slice);
  document.getElementById("note-slice").textContent =
    (slice.error ? "" : legendOf(slice)) || "\u00a0";
  if (nothing(figure.querySelector(".plot"), Boolean(slice.error))) return;
  figure.querySelector(".plot").dataset.slice = slice.version;
  await draw(
    figure.querySelector(".plot"),
    ...(slice.kind === "surface" ? surfaceSlice(slice, surface.value) : lineSlice(slice)),
  );
}

let slices = [];

export async function drawSlices() {
  const through = sliced?.querySelector("[name=through]")?.value;
  const found = await call(
    overview.dataset.slices + (through ? `?${new URLSearchParams({ through })}` : ""),
  );
  slices = found.slices;
  // Means and the trials on a slice set the scale, not ranges far from all data: differences are to
  // be seen.
  const ends = slices.flatMap((s) => [
    ...s.mean,
    ...s.data.value.filter((v, i) => v !== null && s.data.weight[i] > 0.5),
  ]);
  const low = Math.min(...ends),
    high = Math.max(...ends),
    room = 0.15 * (high - low || Math.abs(high) || 1);
  const range = [low - room, high + room];
  await Promise.all(
    [...overview.querySelectorAll("figure")].map(async (figure, i) => {
      const s = slices[i],
        place = figure.querySelector(".plot");
      figure.querySelector(".words").textContent = s
        ? `From ${round(Math.min(...s.mean))} to ${round(Math.max(...s.mean))} is expected.`
        : (found.error ?? "\u00a0");
      if (nothing(place, !s)) return;
      const [traces, extra] = lineSlice(s, low - 0.6 * room);
      place.dataset.slice = s.version;
      await draw(place, traces, {
        ...extra,
        showlegend: false,
        xaxis: { ...extra.xaxis, title: undefined },
        yaxis: { range },
      });
    }),
  );
}

// As many digits as the noise justifies, and one more.
function round(value) {
  if (!page.places) return Number(value.toPrecision(4));
  const places = Number(page.places) + 1;
  return Number(Number(value.toPrecision(6)).toFixed(Math.min(20, Math.max(0, places))));
}

function describe(s) {
  const means = s.mean.flat().filter((v) => v !== null),
    low = Math.min(...means),
    high = Math.max(...means);
  const along = s.kind === "surface" ? `${s.x} and ${s.y}` : s.x;
  const trials = `${s.near} ${s.near === 1 ? "trial" : "trials"}`;
  const expected = `from ${round(low)} to ${round(high)} is expected`;
  if (s.kind === "list") return `Over the designs, by ${along}: ${expected}. ${trials} so far.`;
  const held = s.constrained ? " as far as the constraints allow" : "";
  const lie = s.near === 1 ? "lies" : "lie";
  const where = `Along ${along}, all else as in trial ${s.through}${held}`;
  return `${where}: ${expected}; ${trials} ${lie} near.`;
}

// What is drawn, and nothing that is not.
function legendOf(s) {
  const said = [],
    shown = s.data.value,
    off = s.data.weight.some((weight) => weight < 0.99);
  if (shown.some((v) => v !== null))
    said.push(`dots are trials${off ? ", the paler the farther from here" : ""}`);
  if (shown.some((v) => v === null)) said.push("diamonds are running trials");
  if (s.next) said.push("the triangle would be proposed next");
  return said.length ? `${said.join("; ").replace(/^./, (c) => c.toUpperCase())}.` : "";
}

function save(name, rows) {
  const quote = (v) => (typeof v === "string" ? `"${v.replaceAll('"', '""')}"` : v);
  const file = URL.createObjectURL(
    new Blob([rows.map((row) => row.map(quote).join(",")).join("\r\n")], { type: "text/csv" }),
  );
  const anchor = Object.assign(document.createElement("a"), { href: file, download: name });
  anchor.click();
  URL.revokeObjectURL(file);
}

const COLUMNS = ["mean", "std", "low", "high"];

export function slicesCsv() {
  if (!slices.length) return say("There is no slice to save yet.");
  save("slices.csv", [
    ["input", "at", ...COLUMNS],
    ...slices.flatMap((s) => s.xs.map((x, i) => [s.x, x, ...COLUMNS.map((key) => s[key][i])])),
  ]);
}

export function sliceCsv() {
  if (!slice || slice.error) return say("There is no slice to save yet.");
  const head = [slice.x, ...(slice.kind === "surface" ? [slice.y] : []), ...COLUMNS];
  const rows =
    slice.kind === "surface"
      ? slice.ys.flatMap((y, j) =>
          slice.xs.map((x, i) => [x, y, ...COLUMNS.map((key) => slice[key][j][i])]),
        )
      : slice.xs.map((x, i) => [x, ...COLUMNS.map((key) => slice[key][i])]);
  save("slice.csv", [head, ...rows]);
}
