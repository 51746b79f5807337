// Which charts are drawn, and when they are drawn again.

import { drawChart } from "./curves.js";
import { drawPolicies } from "./policy.js";
import { drawSlice, drawSlices, overview, sliceCsv, sliced, slicesCsv } from "./slices.js";

const figures = [...document.querySelectorAll("[data-chart]")];
const quietly = (promise, figure) =>
  promise.catch((error) => {
    figure.querySelector(".words").textContent = error.message;
  });

let fitted = null,
  overviewed = null;
function drawOverview() {
  const model = document.body.dataset.model;
  if (!overview?.open || !model || model === overviewed) return;
  overviewed = model;
  drawSlices().catch((error) => {
    overview.querySelector(".words").textContent = error.message;
  });
}

function drawAll() {
  // what is folded away is drawn when it is unfolded
  figures
    .filter((figure) => !figure.closest("details:not([open])"))
    .forEach((figure) => quietly(drawChart(figure), figure));
  if (sliced && document.body.dataset.model && document.body.dataset.model !== fitted) {
    fitted = document.body.dataset.model;
    quietly(drawSlice(sliced), sliced);
  }
  drawOverview();
  drawPolicies();
}
document.addEventListener("changed", drawAll);
for (const fold of document.querySelectorAll("#theory, [data-charts]"))
  fold.addEventListener("toggle", drawAll);
for (const tick of document.querySelectorAll("[data-chart] input"))
  tick.addEventListener("change", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  fitted = overviewed = null;
  drawAll();
});
sliced
  ?.querySelector("form")
  .addEventListener("change", (event) =>
    quietly(drawSlice(sliced, event.target.name !== "surface"), sliced),
  );
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
