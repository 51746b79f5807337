// What every drawing shares: the library, colours, axes, the legend. Names are data: Plotly reads
// some tags in labels, so they are escaped.

const plotly = new Promise((done) => {
  const script = document.getElementById("plotly");
  if (window.Plotly) done(window.Plotly);
  else script.addEventListener("load", () => done(window.Plotly));
});
export const color = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const plain = (text) =>
  String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// The first six are chosen by hand; beyond, hues evenly spaced, neighbours told apart by lightness
// too: no two are alike.
export const NAMED = 6;
export function series(index, total = NAMED) {
  if (total <= NAMED) return color(`series-${1 + index}`);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const hue = Math.round((360 * index) / total),
    light = (dark ? [62, 78, 50] : [38, 52, 26])[index % 3];
  return hex(hue, 0.68, light / 100);
}

function hex(hue, saturation, light) {
  const spread = saturation * Math.min(light, 1 - light);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))))
      .toString(16)
      .padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

function layout(extra = {}) {
  const axis = {
    gridcolor: color("line"),
    zerolinecolor: color("line"),
    linecolor: color("line"),
    automargin: true,
    exponentformat: "e", // 1e-5, not 10µ
    minexponent: 4,
    title: { standoff: 8 },
  };
  const { xaxis, yaxis, ...rest } = extra;
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: color("ink"), size: 12.5, family: "inherit" },
    margin: { l: 48, r: 12, t: 10, b: 36 },
    showlegend: false,
    hovermode: "closest",
    dragmode: false,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11.5 } },
    hoverlabel: {
      bgcolor: color("raised"),
      bordercolor: color("line"),
      font: { color: color("ink") },
    },
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, ...yaxis },
    ...rest,
  };
}

export async function draw(place, traces, { listed = false, ...extra }) {
  const library = await plotly;
  legend(place, listed ? traces.filter((trace) => trace.showlegend !== false) : []);
  await library.react(place, traces, layout(extra), {
    displayModeBar: false,
    responsive: true,
    doubleClick: false,
  });
}

// Many names stand below the drawing, where they wrap; in it they would leave no room on a phone.
function legend(place, traces) {
  place.parentElement.querySelector(".legend")?.remove();
  if (!traces.length) return;
  const list = document.createElement("ul");
  list.className = "legend";
  list.append(
    ...traces.map((trace) => {
      const item = document.createElement("li"),
        swatch = document.createElement("span");
      swatch.style.backgroundColor = trace.line.color;
      item.append(
        swatch,
        new DOMParser().parseFromString(trace.name, "text/html").body.textContent,
      );
      return item;
    }),
  );
  place.after(list);
}

export const line = (x, y, name, index, total) => ({
  x,
  y,
  name: plain(name),
  type: "scatter",
  mode: "lines",
  line: { color: series(index, total), width: 1.75 },
});
export const trials = { title: { text: "trial" } };

export const short = (text) => (text.length > 18 ? `${text.slice(0, 16)}…` : text);

export function nothing(place, empty) {
  place.classList.toggle("nothing", empty);
  if (empty) window.Plotly?.purge(place);
  return empty;
}
