// Where inputs are context: the best action as a function of it, beside what was tried.

import { color, draw, series } from "./drawing.js";
import { axis, label } from "./slices.js";

function traces(curve) {
  const number = (v) => typeof v === "number";
  const lines = curve.values.every(number);
  const shape = curve.best.every(number) ? "linear" : "hv"; // options have nothing between them
  const tried = curve.tried;
  return [
    {
      x: label(tried.context),
      y: label(tried.action),
      text: tried.number.map((number) => `trial ${number}`),
      type: "scatter",
      mode: "markers",
      name: "tried",
      marker: { color: color("faint"), size: 6, opacity: 0.75 },
    },
    {
      x: label(curve.values),
      y: label(curve.best),
      type: "scatter",
      mode: lines ? "lines" : "markers",
      name: "best by the model",
      line: { color: series(0), width: 2.25, shape },
      marker: { color: series(0), size: 11, symbol: "diamond" },
    },
  ];
}

export function drawPolicies() {
  for (const figure of document.querySelectorAll("[data-policy]")) {
    const curve = JSON.parse(figure.dataset.policy);
    draw(figure.querySelector(".plot"), traces(curve), {
      showlegend: true,
      xaxis: axis(curve.values, curve.context),
      yaxis: axis([...curve.best, ...curve.tried.action], curve.action),
    });
  }
}
