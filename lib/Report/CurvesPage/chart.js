// The canvas: charts one below the other with a common axis of steps or seconds; `step` is a place on it.

const left = 64, right = 16, headroom = 30, bottom = 26, between = 44;
const section = find("charts"), canvas = find("canvas"), context = canvas.getContext("2d");

const view = {
  start: axis.first, end: axis.last, // what is visible
  width: 0, height: 0,
  weight: runs.some((run) => run.steps.length >= 50) ? 0.9 : 0,
  showsRaw: true, isLogarithmic: false,
  pointed: null, // a step
  dragged: null, // [from, to] during a selection
};

function getX(step) { return left + (step - view.start) / (view.end - view.start) * (view.width - left - right); }
function getStep(x) { return view.start + (x - left) / (view.width - left - right) * (view.end - view.start); }

function layOut() {
  const room = view.height - headroom - bottom - between * (charts.length - 1);
  const all = charts.reduce((sum, chart) => sum + chart.part, 0);
  let y = headroom;
  for (const chart of charts) {
    chart.top = y;
    chart.bottom = y + Math.max(40, room * chart.part / all);
    y = chart.bottom + between;
  }
}

// Calls `use(step, value)` for each value of a run that a chart draws.
function forEachValue(run, chart, use) {
  const from = Math.max(0, findAbove(run.steps, "at", view.start) - 1);
  const smoothed = smooth(run, chart.field, view.weight);
  for (let i = from; i < run.steps.length; i++) {
    const {at: step} = run.steps[i];
    if (view.showsRaw) use(step, run.steps[i][chart.field]);
    use(step, smoothed[i]);
    if (step > view.end) break;
  }
  for (const evaluation of getEvaluated(run, chart.field))
    if (evaluation.at >= view.start && evaluation.at <= view.end) use(evaluation.at, evaluation[chart.field]);
}

// Sets the range of values of the chart's vertical axis.
function setRange(chart) {
  let low = Infinity, high = -Infinity;
  chart.isLogarithmic = chart.canBeLogarithmic && view.isLogarithmic;
  for (const run of runs)
    if (run.shown)
      forEachValue(run, chart, (step, value) => {
        if (value === null || (chart.isLogarithmic && value <= 0)) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      });
  if (low > high) [low, high] = [chart.isLogarithmic ? 1 : 0, chart.isLogarithmic ? 10 : 1];
  if (chart.hasZero) low = Math.min(0, low);
  if (chart.isLogarithmic) [low, high] = [Math.log10(low), Math.log10(high)];
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  chart.low = chart.hasZero && low === 0 ? 0 : low - margin;
  chart.high = high + margin;
}

function getY(chart, value) {
  if (chart.isLogarithmic && value <= 0) return null;
  const at = chart.isLogarithmic ? Math.log10(value) : value;
  return chart.bottom - (at - chart.low) / (chart.high - chart.low) * (chart.bottom - chart.top);
}

function getValueTicks(chart) {
  const most = Math.max(2, (chart.bottom - chart.top) / 38);
  if (!chart.isLogarithmic) return pickTicks(chart.low, chart.high, most);
  if (chart.high - chart.low < 1) // within a decade
    return pickTicks(10 ** chart.low, 10 ** chart.high, most);
  const ticks = [];
  const factors = chart.high - chart.low < most / 2 ? [1, 2, 5] : [1];
  for (let power = Math.floor(chart.low); power <= chart.high; power++)
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (Math.log10(tick) >= chart.low && Math.log10(tick) <= chart.high) ticks.push(tick);
    }
  return ticks;
}

function drawAxes(chart) {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const tick of getValueTicks(chart)) {
    const y = Math.round(getY(chart, tick));
    context.fillStyle = getColor("grid");
    context.fillRect(left, y, view.width - left - right, 1);
    context.fillStyle = getColor("muted");
    context.fillText(spellValue(tick), left - 8, y);
  }
  context.textAlign = "center";
  for (const tick of pickTicks(view.start, view.end, Math.max(2, (view.width - left - right) / 100))) {
    if (axis.field === "step" && !Number.isInteger(tick)) continue;
    const x = Math.round(getX(tick));
    context.fillStyle = getColor("grid");
    context.fillRect(x, chart.top, 1, chart.bottom - chart.top);
    context.fillStyle = getColor("muted");
    context.fillText(String(tick), x, chart.bottom + 12);
  }
  context.fillStyle = getColor("line");
  context.fillRect(left, Math.round(chart.bottom), view.width - left - right, 1);
  context.textAlign = "left";
  context.fillStyle = getColor("text");
  context.font = "600 12px system-ui, sans-serif";
  context.fillText(chart.name, left, chart.top - 12);
}

// Draws a line through the values of steps, with gaps where a value is unknown.
// For many steps in one pixel it draws only the minimum and the maximum.
function drawLine(run, chart, values) {
  context.beginPath();
  let isDown = false, drawn = 0, column = null, low = 0, high = 0;
  for (let i = Math.max(0, findAbove(run.steps, "at", view.start) - 1); i < run.steps.length; i++) {
    const {at: step} = run.steps[i], y = values[i] === null ? null : getY(chart, values[i]);
    if (y === null) {
      isDown = false;
      column = null;
    } else {
      const x = getX(step);
      if (column === Math.floor(x) && y >= low && y <= high) continue;
      if (column !== Math.floor(x)) { column = Math.floor(x); low = high = y; }
      low = Math.min(low, y);
      high = Math.max(high, y);
      if (isDown) context.lineTo(x, y); else { context.moveTo(x, y); context.lineTo(x + 0.01, y); }
      isDown = true;
      drawn++;
    }
    if (step > view.end) break;
  }
  context.stroke();
  return drawn;
}

function drawRun(run, chart) {
  const color = getRunColor(run.index);
  context.strokeStyle = context.fillStyle = color;
  context.lineCap = context.lineJoin = "round";
  let drawn = 0;
  if (view.showsRaw && view.weight > 0) {
    context.globalAlpha = 0.3;
    context.lineWidth = 1;
    drawn += drawLine(run, chart, run.steps.map((step) => step[chart.field]));
    context.globalAlpha = 1;
  }
  context.lineWidth = 1.8;
  drawn += drawLine(run, chart, smooth(run, chart.field, view.weight));
  drawEvaluations(run, chart, color);
  context.lineWidth = 1;
  context.setLineDash([3, 4]);
  context.globalAlpha = 0.7;
  for (const steps of run.resumed) {
    const x = Math.round(getX(axis.field === "step" ? steps + 0.5 : getSecond(run, steps))) + 0.5;
    context.beginPath();
    context.moveTo(x, chart.top);
    context.lineTo(x, chart.bottom);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  return drawn;
}

function drawEvaluations(run, chart, color) {
  const dots = getEvaluated(run, chart.field).filter(({at: step, [chart.field]: value}) =>
      step >= view.start && step <= view.end && getY(chart, value) !== null);
  for (const {at: step, [chart.field]: value} of dots) {
    context.beginPath();
    context.arc(getX(step), getY(chart, value), 4, 0, 2 * Math.PI);
    context.fillStyle = color;
    context.fill();
    context.strokeStyle = getColor("panel");
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.strokeStyle = color;
}

function drawPointer() {
  if (view.dragged) {
    const [a, b] = view.dragged.map(getX);
    context.fillStyle = getColor("accent");
    context.globalAlpha = 0.15;
    context.fillRect(Math.min(a, b), headroom, Math.abs(b - a), charts[charts.length - 1].bottom - headroom);
    context.globalAlpha = 1;
  } else if (view.pointed !== null) {
    context.fillStyle = getColor("faint");
    context.fillRect(Math.round(getX(view.pointed)), headroom, 1, charts[charts.length - 1].bottom - headroom);
  }
}

function draw() {
  context.clearRect(0, 0, view.width, view.height);
  let drawn = 0;
  for (const chart of charts) {
    setRange(chart);
    drawAxes(chart);
    context.save();
    context.beginPath();
    context.rect(left - 6, chart.top - 5, view.width - left - right + 12, chart.bottom - chart.top + 6);
    context.clip();
    for (const run of runs) if (run.shown) drawn += drawRun(run, chart);
    context.restore();
  }
  drawPointer();
  document.documentElement.dataset.points = drawn;
}

let isScheduled = false;
function redraw() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => { isScheduled = false; draw(); });
}

function resize() {
  view.width = section.clientWidth;
  view.height = section.clientHeight;
  fitCanvas(canvas, context, view.width, view.height);
  layOut();
  draw();
}
