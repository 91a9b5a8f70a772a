// The panel next to the charts, the pointer, keys and buttons.

function makeSwatch(run) { return make("i", {style: `background: ${getRunColor(run.index)}`}); }

function showHeader() {
  find("title").textContent = runs.length === 1 ? runs[0].name : `${runs.length} runs`;
  const models = [...new Set(runs.map((run) => run.model).filter((model) => model))];
  find("subtitle").textContent = [models.join(", "), ...(runs.length === 1 ? [runs[0].plan] : [])].filter((part) => part).join(" · ");
}

function showLegend() {
  find("legend").replaceChildren(...runs.map((run) => {
    const button = make("button", {"aria-pressed": String(run.shown), title: "Show or hide"}, makeSwatch(run), run.name);
    button.addEventListener("click", () => { run.shown = !run.shown; showLegend(); redraw(); });
    return make("li", {}, button);
  }));
}

function showRuns() {
  const rows = runs.map((run) => {
    const losses = run.steps.map((step) => step.loss).filter((loss) => loss !== null);
    const evaluations = run.evaluations.filter((evaluation) => evaluation.loss !== null);
    const best = evaluations.reduce((least, evaluation) => least && least.loss <= evaluation.loss ? least : evaluation, null);
    const last = evaluations[evaluations.length - 1];
    const timed = run.steps.slice(run.steps.length > 1 ? 1 : 0).filter((step) => step.rate); // the first is slow
    const time = timed.reduce((sum, step) => sum + 1 / step.rate, 0);
    return [make("span", {}, makeSwatch(run), run.name), run.model, run.plan,
            String(run.steps.length ? run.steps[run.steps.length - 1].step : last.step),
            spellValue(losses[losses.length - 1]), last ? spellValue(last.loss) : "–",
            best ? `${spellValue(best.loss)} (${best.step})` : "–",
            time > 0 ? `${spellValue(timed.length / time)} ${run.unit}/s` : "–", spellDuration(run.seconds)];
  });
  find("runs").replaceChildren(makeTable(
      ["run", "model", "plan", "steps", "last loss", "last evaluation", "best (after step)", "throughput", "time in steps"], rows));
}

// Returns the step of a run that is nearest to another.
function findNearest(run, step) {
  const above = findAbove(run.steps, "at", step);
  const near = [run.steps[above - 1], run.steps[above]].filter((record) => record);
  return near.reduce((best, record) => !best || Math.abs(record.at - step) < Math.abs(best.at - step) ? record : best, null);
}

function describePointed(run) {
  const step = findNearest(run, view.pointed);
  const evaluation = run.evaluations[findAbove(run.evaluations, "at", view.pointed) - 1];
  const smoothed = step && smooth(run, "loss", view.weight)[run.steps.indexOf(step)];
  return [make("span", {}, makeSwatch(run), run.name), step ? String(step.step) : "–",
          ...[step?.loss, ...(view.weight > 0 ? [smoothed] : []), step?.norm, step?.rate].map(spellValue),
          evaluation ? `${spellValue(evaluation.loss)} after ${evaluation.step}` : "–",
          ...metricNames.map((name) => spellValue(evaluation?.[fieldOf(name)]))];
}

function showTip(event) {
  const tip = find("tip"), shown = runs.filter((run) => run.shown);
  tip.hidden = view.pointed === null || view.dragged !== null || shown.length === 0;
  if (tip.hidden) return;
  const heads = ["", "step", "loss", ...(view.weight > 0 ? ["smoothed"] : []), "norm", "per second", "evaluation",
                 ...metricNames];
  tip.replaceChildren(makeTable(heads, shown.map(describePointed)));
  placeTip(tip, event, section.getBoundingClientRect().right);
}

function setWindow(start, end) {
  view.start = Math.max(axis.first, Math.min(start, end));
  view.end = Math.min(axis.last, Math.max(start, end));
  redraw();
}
function showAll() { setWindow(axis.first, axis.last); }

function stepAt(event) {
  const step = getStep(event.clientX - canvas.getBoundingClientRect().left);
  const inside = Math.min(view.end, Math.max(view.start, step));
  return axis.field === "step" ? Math.round(inside) : inside;
}

section.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  view.dragged = [stepAt(event), stepAt(event)];
  section.setPointerCapture(event.pointerId);
});
section.addEventListener("pointermove", (event) => {
  view.pointed = stepAt(event);
  if (view.dragged) view.dragged[1] = view.pointed;
  showTip(event);
  redraw();
});
section.addEventListener("pointerup", () => {
  const dragged = view.dragged;
  view.dragged = null;
  if (dragged && Math.abs(getX(dragged[1]) - getX(dragged[0])) > 6) setWindow(...dragged);
  redraw();
});
section.addEventListener("pointerleave", (event) => {
  if (view.dragged) return;
  view.pointed = null;
  showTip(event);
  redraw();
});
section.addEventListener("dblclick", showAll);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" || event.key.toLowerCase() === "f") showAll();
});

find("fit").addEventListener("click", showAll);
find("raw").addEventListener("change", (event) => { view.showsRaw = event.target.checked; redraw(); });
find("seconds").addEventListener("change", (event) => { setAxis(event.target.checked ? "second" : "step"); showAll(); });
find("logarithmic").addEventListener("change", (event) => { view.isLogarithmic = event.target.checked; redraw(); });
function showSmoothing() {
  find("smoothing").value = Math.round(view.weight * 100);
  find("smoothed").value = view.weight.toFixed(2);
  showRuns();
}
find("smoothing").addEventListener("input", (event) => {
  view.weight = Number(event.target.value) / 100;
  showSmoothing();
  redraw();
});

showHeader();
showSmoothing();
followTheme(() => { showLegend(); showRuns(); redraw(); });
new ResizeObserver(resize).observe(section);
