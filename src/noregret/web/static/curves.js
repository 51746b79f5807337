// The charts over the trials, from the API's columns.

import { NAMED, color, draw, line, nothing, plain, series, short, trials } from "./drawing.js";
import { call } from "./page.js";

const page = document.body.dataset;

const builders = {
  convergence(c, figure) {
    const log = figure.querySelector("[name=log]"),
      beyond = c.number.map((_, i) => i).filter((i) => c.feasible[i] === false);
    if (log) log.closest("label").hidden = !c.value.every((v) => v === null || v > 0);
    const failed = c.number.filter((_, i) => c.state[i] === "failed");
    const level = failed.map(() => 0.02);
    const [bottom, top] = range(c, log?.checked),
      off = (v) => v !== null && (v < bottom || v > top);
    const counts = (i) => c.feasible[i] !== false,
      inside = c.value.map((v, i) => (off(v) || !counts(i) ? null : v)),
      far = c.number.filter((_, i) => off(c.value[i]) && counts(i));
    const banded = c.upper.some((v) => v !== null);
    return [
      [
        ...(banded
          ? [
              {
                x: c.number,
                y: c.lower,
                type: "scatter",
                mode: "lines",
                line: { width: 0 },
                hoverinfo: "skip",
                showlegend: false,
              },
              {
                x: c.number,
                y: c.upper,
                type: "scatter",
                mode: "lines",
                line: { width: 0 },
                fill: "tonexty",
                fillcolor: color("band"),
                name: "range for the best",
                hoverinfo: "skip",
              },
            ]
          : []),
        {
          x: c.number,
          y: inside,
          type: "scatter",
          mode: "markers",
          name: "observed",
          marker: { color: color("faint"), size: 5, opacity: 0.75 },
        },
        {
          x: far,
          y: far.map((n) => (c.value[c.number.indexOf(n)] > top ? top : bottom)),
          text: far.map((n) => `trial ${n}: ${c.value[c.number.indexOf(n)]}`),
          hoverinfo: "text",
          type: "scatter",
          mode: "markers",
          name: "far off",
          showlegend: far.length > 0,
          marker: {
            color: color("faint"),
            size: 6,
            symbol: far.map((n) =>
              c.value[c.number.indexOf(n)] > top ? "triangle-up" : "triangle-down",
            ),
          },
        },
        {
          ...line(c.number, c.best, "best so far", 0),
          line: { color: series(0), width: 2.25, shape: "hv" },
        },
        ...(beyond.length
          ? [
              {
                x: beyond.map((i) => c.number[i]),
                y: beyond.map((i) => Math.min(top, Math.max(bottom, c.value[i]))),
                text: beyond.map((i) => `trial ${c.number[i]}: ${c.value[i]}, beyond a limit`),
                hoverinfo: "text",
                type: "scatter",
                mode: "markers",
                name: "beyond a limit",
                marker: { color: color("bad"), symbol: "square-open", size: 7 },
              },
            ]
          : []),
        ...(failed.length
          ? [
              {
                x: failed,
                y: level,
                yaxis: "y2",
                type: "scatter",
                mode: "markers",
                name: "failed",
                marker: { symbol: "x", color: color("bad"), size: 7 },
                hovertemplate: "trial %{x} failed<extra></extra>",
              },
            ]
          : []),
      ],
      {
        showlegend: true,
        xaxis: trials,
        yaxis: {
          title: { text: plain(page.quantity) },
          ...(log?.checked
            ? { type: "log" }
            : { range: [bottom - 0.04 * (top - bottom), top + 0.04 * (top - bottom)] }),
        },
        yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
      },
    ];
  },
  // An outcome beside its limit.
  outcomes(c, figure) {
    const { outcome, limit, limited } = figure.dataset,
      y = c[`outcome ${outcome}`],
      beyond = y.map((v) => v !== null && (limited[0] === "≤" ? v > limit : v < limit));
    const marks = (name, keep, look) => ({
      x: c.number.filter((_, i) => keep(i)),
      y: y.filter((_, i) => keep(i)),
      name,
      type: "scatter",
      mode: "markers",
      hovertemplate: "trial %{x}: %{y:.4g}<extra></extra>",
      marker: { size: 7, ...look },
    });
    const ends = [c.number[0], c.number.at(-1)];
    return [
      [
        marks("within", (i) => !beyond[i], { color: series(0) }),
        marks("beyond", (i) => beyond[i], { color: color("bad"), symbol: "square-open" }),
        {
          ...line(ends, [Number(limit), Number(limit)], `limit ${limited}`, 0),
          line: { color: color("ink"), dash: "dash", width: 1.25 },
        },
      ],
      { showlegend: true, xaxis: trials, yaxis: { title: { text: plain(short(outcome)) } } },
    ];
  },
  // Each trial with a value as a line through the axes of its inputs.
  parallel(c) {
    const keys = Object.keys(c).filter((key) => key.startsWith("input ")),
      names = keys.map((key) => key.slice("input ".length)),
      values = c.value,
      low = Math.min(...values),
      high = Math.max(...values),
      shades = 8;
    const up = page.better === "higher",
      shade = (v) => {
        const share = high > low ? (v - low) / (high - low) : 1;
        return Math.min(shades - 1, Math.floor(shades * (up ? share : 1 - share)));
      };
    const traces = Array.from({ length: shades }, (_, k) => {
      const rows = values.map((_, i) => i).filter((i) => shade(values[i]) === k);
      return {
        x: rows.flatMap(() => [...keys.keys(), keys.length, null]),
        y: rows.flatMap((i) => [
          ...keys.map((key) => c[key][i]),
          high > low ? (values[i] - low) / (high - low) : 0.5,
          null,
        ]),
        text: rows.flatMap((i) => Array(keys.length + 2).fill(`trial ${c.number[i]}: ${values[i]}`)),
        hoverinfo: "text",
        type: "scatter",
        mode: "lines",
        line: {
          color: series(0),
          width: k === shades - 1 ? 2.5 : 1.25,
        },
        opacity: 0.15 + (0.85 * k) / (shades - 1),
      };
    });
    const value = page.quantity.replace(/,.*/, "");
    return [
      traces,
      {
        xaxis: {
          tickvals: [...names, value].map((_, i) => i),
          ticktext: [...names, value].map((name) => plain(short(name))),
          range: [-0.1, names.length + 0.1],
          zeroline: false,
          gridcolor: color("faint"),
        },
        yaxis: {
          tickvals: [0, 1],
          ticktext: ["low", "high"],
          range: [-0.05, 1.05],
          zeroline: false,
        },
      },
    ];
  },
  timeline(c) {
    const looks = { complete: series(0), failed: color("bad"), running: series(1) },
      now = new Date().toISOString();
    const states = [...new Set(c.state)].filter((state) => state in looks);
    return [
      states.map((state) => {
        const rows = c.state.map((_, i) => i).filter((i) => c.state[i] === state && c.created[i]);
        return {
          x: rows.flatMap((i) => [c.created[i], c.finished[i] ?? now, null]),
          y: rows.flatMap((i) => [c.number[i], c.number[i], null]),
          name: state,
          type: "scatter",
          mode: "lines+markers",
          hovertemplate: "trial %{y}: %{x}<extra></extra>",
          line: { color: looks[state], width: 3 },
          marker: { color: looks[state], size: 4 },
        };
      }),
      { showlegend: true, xaxis: { type: "date", title: { text: "UTC" } }, yaxis: trials },
    ];
  },
  coverage(c) {
    return [
      [
        {
          x: c.number,
          y: c.least,
          type: "scatter",
          mode: "lines",
          line: { width: 0 },
          fill: "tozeroy",
          fillcolor: color("band"),
          name: "too few",
          hoverinfo: "skip",
        },
        {
          ...line(c.number, c.nominal, "expected", 0),
          line: { color: color("faint"), dash: "dash", width: 1.25 },
        },
        line(c.number, c.coverage, "in their range", 0),
      ],
      {
        showlegend: true,
        xaxis: { title: { text: "trial" } },
        yaxis: { range: [0, 1.03], tickformat: ".0%" },
      },
    ];
  },
  residuals(c) {
    return [
      [
        {
          x: c.number,
          y: c.residual,
          type: "scatter",
          mode: "markers",
          hovertemplate: "trial %{x}: %{y:.2f}<extra></extra>",
          marker: {
            size: 7,
            color: c.inside.map((inside) => (inside ? "rgba(0,0,0,0)" : color("bad"))),
            line: {
              width: 1.25,
              color: c.inside.map((inside) => (inside ? series(0) : color("bad"))),
            },
          },
        },
      ],
      {
        xaxis: { title: { text: "trial" } },
        yaxis: { title: { text: "standard deviations" }, zeroline: true },
        shapes: [-1.645, 1.645].map((y) => ({
          type: "line",
          xref: "paper",
          x0: 0,
          x1: 1,
          y0: y,
          y1: y,
          line: { color: color("faint"), dash: "dot", width: 1 },
        })),
      },
    ];
  },
  lengthscales(c) {
    const traces = [],
      keys = Object.keys(c).filter((key) => key.endsWith(" in force"));
    keys.forEach((key, index) => {
      const name = key.slice(0, -" in force".length);
      traces.push({ ...line(c.number, c[key], short(name), index, keys.length), legendgroup: key });
      if (c[`${name} fitted`])
        traces.push({
          ...line(c.number, c[`${name} fitted`], `${short(name)}, fitted`, index),
          line: { color: series(index, keys.length), dash: "dot", width: 1.5 },
          showlegend: false,
          legendgroup: key,
        });
    });
    return [
      traces,
      {
        listed: keys.length > NAMED,
        showlegend: keys.length <= NAMED,
        xaxis: { title: { text: "trial" } },
        yaxis: logAxis(
          Object.keys(c)
            .filter((key) => key !== "number")
            .map((key) => c[key]),
        ),
      },
    ];
  },
  scaling: (c) => several(c, ["h", "g", "b"], "log"),
  width: (c) =>
    several(c, ["beta_sqrt", "norm_bound"], "log", {
      beta_sqrt: "β^½",
      norm_bound: "norm bound",
    }),
  information: (c) => several(c, ["information_gain"], "linear"),
  noise: (c) => several(c, ["noise_std"], "linear"),
};

function several(c, keys, type, names = {}) {
  const there = keys.filter((key) => c[key].some((value) => value !== null));
  return [
    there.map((key, index) => line(c.number, c[key], names[key] ?? key, index)),
    {
      showlegend: keys.length > 1,
      xaxis: { title: { text: "trial" } },
      yaxis: type === "log" ? logAxis(there.map((key) => c[key])) : { rangemode: "tozero" },
    },
  ];
}

// What differs among good values is what a person looks for: values and bands far beyond the better
// three quarters do not set the scale.
function range(c, everything) {
  const all = c.value.filter((v) => v !== null),
    feasible = c.value.filter((v, i) => v !== null && c.feasible[i] !== false),
    values = (feasible.length ? feasible : all).sort((a, b) => a - b),
    n = values.length;
  if (!n) return [0, 1];
  const best = c.best.findLast((v) => v !== null) ?? null,
    up = best >= values[n - 1];
  if (everything || best === null) return [Math.min(...all), Math.max(...all)];
  const typical =
    Math.abs(best - values[up ? Math.floor(n / 4) : Math.ceil((3 * (n - 1)) / 4)]) ||
    values[n - 1] - values[0] ||
    Math.abs(best) ||
    1;
  const far = values[n - 1] - values[0] > 5 * typical;
  const worst = far ? best + (up ? -2 : 2) * typical : values[up ? 0 : n - 1];
  const ends = [...c.lower, ...c.upper].filter((v) => v !== null);
  const beyond = up
    ? Math.min(Math.max(best, ...ends), best + typical)
    : Math.max(Math.min(best, ...ends), best - typical);
  return up ? [worst, beyond] : [beyond, worst];
}

// 1, 2, 5 of every decade, or the decades alone if there are many.
function logAxis(columns) {
  const all = columns.flat().filter((v) => v > 0),
    low = Math.min(...all),
    high = Math.max(...all);
  const steps = high / low < 40 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)) - 1; k <= Math.ceil(Math.log10(high)); k += 1)
    ticks.push(...steps.map((step) => Number(`${step}e${k}`)));
  return { type: "log", tickvals: ticks, ticktext: ticks.map(String) };
}

export async function drawChart(figure) {
  const data = await call(figure.dataset.src);
  figure.querySelector(".words").textContent =
    data.text +
    (data.rows > data.columns.number.length
      ? ` The drawing shows every ${Math.ceil(data.rows / data.columns.number.length)}th of` +
        ` ${data.rows} points, the CSV file all.`
      : "");
  const place = figure.querySelector(".plot");
  place.dataset.points = data.rows;
  if (
    nothing(
      place,
      !data.rows ||
        Object.entries(data.columns).every(
          ([key, column]) => ["number", "state", "feasible"].includes(key) || column.every((v) => v === null),
        ),
    )
  )
    return;
  await draw(place, ...builders[figure.dataset.chart](data.columns, figure));
}
