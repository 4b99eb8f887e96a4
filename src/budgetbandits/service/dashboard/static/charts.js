// Money over time, one chart for each resource. Here, and only here, amounts become floats: to be drawn.

/* global uPlot */
import { dismiss, notice } from "./notices.js";
import { paced } from "./pace.js";
import { read } from "./requests.js";
import { localText, serverTime } from "./times.js";

const PAUSE = 2000; // between two readings of the series, at least
const TOPIC = "charts";
const DIGITS = 12; // of a sum of floats; the line of a budget must be straight
const HEIGHT = 280;

const LEAST = 60; // seconds that a chart spans
const DAY = 86400;
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
const amountText = (amount) => (amount < 1e5 ? amount.toLocaleString("en") : COMPACT.format(amount));

// How times are written along the axis: of ticks so many seconds apart, and what stands below where the day or year turns.
const MOMENTS = [
  [365 * DAY, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * DAY, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [DAY, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
];

let points = [];
const charts = new Map(); // by the element that holds it

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draw the charts, and again whenever something may have changed. */
export const draw = paced(load, () => PAUSE);

async function load() {
  const { reading } = document.getElementById("chart-ends").dataset;
  if (reading) {
    for (const words of document.querySelectorAll(".chart-wait")) words.textContent = `Reading the journal: ${reading}`;
    return;
  }
  try {
    points = (await read(document.getElementById("charts").dataset.series)).points;
    for (const place of document.querySelectorAll(".chart")) show(place);
    dismiss(TOPIC);
  } catch (error) {
    notice(`The charts could not be loaded. ${error.message}`, { error: true, retry: draw, topic: TOPIC });
  }
}

/** What the series says of one resource: seconds, and amounts spent, spent or reserved, and in all. */
function columns(resource) {
  const of = (point) => point.resources?.[resource] ?? point;
  const times = points.map((point) => Date.parse(point.time) / 1000);
  const spent = points.map((point) => Number(of(point).spent));
  const used = points.map((point, at) => spent[at] + Number(of(point).reserved));
  const budget = points.map((point, at) => Number((used[at] + Number(of(point).left)).toPrecision(DIGITS)));
  return { times, spent, used, budget };
}

/** When a resource ends, when requests or time do: as the server forecast. */
function forecast(resource) {
  const all = [...document.querySelectorAll("#chart-ends data")].map((end) => ({
    what: end.dataset.what,
    resource: end.dataset.resource,
    time: Date.parse(end.value) / 1000,
  }));
  return {
    money: all.find((end) => end.what === "money" && end.resource === resource),
    others: all.filter((end) => end.what !== "money"),
  };
}

/** The columns up to now, or to the last entry if nothing more will be spent; and a line on to where the money ends.
 *  What lies further ahead than behind is cut off. */
function withForecast({ times, spent, used, budget }, end) {
  const isOver = "over" in document.getElementById("chart-ends").dataset;
  const now = isOver ? times.at(-1) : Math.max(serverTime() / 1000, times.at(-1));
  const furthest = now + Math.max(now - times[0], LEAST);
  const lines = [[...times, now], [...used, used.at(-1)], [...spent, spent.at(-1)], [...cornersOf(budget), budget.at(-1)]];
  const ahead = lines[0].map(() => null);
  if (end) {
    const until = Math.min(end.time, furthest);
    const part = (until - now) / Math.max(end.time - now, 1e-9);
    ahead[ahead.length - 1] = used.at(-1);
    lines[0].push(until);
    lines[1].push(null);
    lines[2].push(null);
    lines[3].push(budget.at(-1));
    ahead.push(used.at(-1) + part * (budget.at(-1) - used.at(-1)));
  }
  return [...lines, ahead];
}

/** A line without the points between others of the same height: in one piece it is straight. */
function cornersOf(line) {
  return line.map((value, at) => (at > 0 && value === line[at - 1] && value === line[at + 1] ? null : value));
}

function show(place) {
  const { money, others } = forecast(place.dataset.resource);
  const data = withForecast(columns(place.dataset.resource), money);
  let chart = charts.get(place);
  if (!chart) {
    place.replaceChildren();
    chart = new uPlot(options(place), data, place);
    charts.set(place, chart);
    new ResizeObserver(() => chart.setSize(size(place))).observe(place);
  }
  chart.others = others;
  chart.setData(data);
}

const size = (place) => ({ width: Math.max(place.clientWidth, 100), height: HEIGHT });

function options(place) {
  const stepped = uPlot.paths.stepped({ align: 1 });
  const axis = {
    stroke: () => colour("--muted"),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
  };
  return {
    ...size(place),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (_, first, last) => [first, Math.max(last, first + LEAST)] },
      y: { range: (_, least, greatest) => [Math.min(least, 0), greatest * 1.04 || 1] },
    },
    axes: [{ ...axis, space: 90, values: MOMENTS }, { ...axis, size: 64, values: (_, ticks) => ticks.map(amountText) }],
    series: [
      {},
      { paths: stepped, width: 1, stroke: () => colour("--reserved"), fill: () => colour("--reserved-soft"), points: { show: false } },
      { paths: stepped, width: 1.5, stroke: () => colour("--spent"), fill: () => colour("--spent-soft"), points: { show: false } },
      { paths: stepped, width: 1, spanGaps: true, stroke: () => colour("--muted"), points: { show: false } },
      { width: 1.5, dash: [5, 5], spanGaps: true, stroke: () => colour("--spent"), points: { show: false } },
    ],
    hooks: { draw: [drawEnds], setCursor: [(chart) => readOut(chart, place)] },
  };
}

/** Mark where requests or the time end. */
function drawEnds(chart) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour("--muted");
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.setLineDash([4, 4]);
  for (const end of chart.others ?? []) {
    const x = chart.valToPos(end.time, "x", true);
    if (x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(end.what === "requests" ? "requests end" : "end", x - 6, bbox.top + bbox.height - 8 * devicePixelRatio);
  }
  ctx.restore();
}

/** Say below the chart what it shows under the pointer. */
function readOut(chart, place) {
  const at = chart.cursor.idx;
  const line = place.nextElementSibling;
  const point = at == null ? null : points[Math.min(at, points.length - 1)];
  if (!point) {
    line.textContent = "";
    return;
  }
  const amounts = point.resources?.[place.dataset.resource] ?? point;
  line.textContent = `${localText(new Date(point.time))} · spent ${amounts.spent} · reserved ${amounts.reserved} · left ${amounts.left}`;
}

/** Draw in the colours of the other scheme. */
export function followScheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts.values()) chart.redraw(false);
  });
}
