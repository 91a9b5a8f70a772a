"""Opens a page of `ppopt plot` in a browser without a window, moves the pointer over it, and prints what is to be seen.

    look_at_curves.py CHROMIUM PAGE [--dark] [--point STEP] [--run SCRIPT]
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from browser import look

# `drawn` says whether a run's colour is where its value is.
LOOK = """
function hasColor(run, chart, step, value) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(getRunColor(run.index).slice(at, at + 2), 16));
  const {data} = context.getImageData(getX(step) - 3, getY(chart, value) - 3, 7, 7);
  for (let i = 0; i < data.length; i += 4)
    if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 24) return true;
  return false;
}
function drawn(run) {
  const wrong = [];
  for (const chart of charts) {
    const visible = run.steps.filter(({at}) => at >= view.start && at <= view.end);
    for (const step of visible)
      if (step[chart.field] !== null && !hasColor(run, chart, step.at, step[chart.field]))
        wrong.push(`${chart.field} of step ${step.step}`);
    for (const evaluation of getEvaluated(run, chart.field).filter(({at}) => at >= view.start && at <= view.end))
      if (!hasColor(run, chart, evaluation.at, evaluation[chart.field]))
        wrong.push(`${chart.field} of the evaluation after ${evaluation.step}`);
  }
  return wrong.join(", ") || "all";
}
function point(step) {
  const box = canvas.getBoundingClientRect();
  section.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: box.left + getX(step), clientY: box.top + 100}));
}
function drag(from, to) {
  const box = canvas.getBoundingClientRect();
  const send = (kind, step) => section.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: box.left + getX(step), clientY: box.top + 100}));
  section.setPointerCapture = () => {};
  send("pointerdown", from);
  send("pointermove", to);
  send("pointerup", to);
}
function report() {
  draw();
  const lines = [`theme: ${document.documentElement.dataset.theme}`, `charts: ${charts.map((chart) => chart.name).join(", ")}`,
                 `steps: ${view.start} to ${view.end}`];
  for (const run of runs.filter((run) => run.shown)) {
    lines.push(`run: ${run.name.replace(/.*[/]/, "")}`);
    lines.push(`losses: ${run.steps.map((step) => `${step.step} ${step.loss}`).join(", ")}`);
    lines.push(`evaluations: ${run.evaluations.map(({step, loss}) => `${step} ${loss}`).join(", ")}`);
    const spell = (records, name) => records.filter((record) => record[fieldOf(name)] !== null).map((record) => `${record.step} ${record[fieldOf(name)]}`).join(", ");
    if (run.metrics.length)
      lines.push(`metrics: ${run.metrics.map(({name}) => `${name} steps ${spell(run.steps, name)} evaluations ${spell(run.evaluations, name)}`).join("; ")}`);
    lines.push(`resumed after: ${run.resumed.join(", ")}`);
    lines.push(`drawn: ${drawn(run)}`);
  }
  for (const id of ["title", "subtitle", "runs", "tip"])
    lines.push(`${id}: ${find(id).hidden ? "hidden" : find(id).innerText.replace(/\\s+/g, " ")}`);
  return lines.join("\\n");
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("page")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--point", type=int)
    parser.add_argument("--run", default="")
    arguments = parser.parse_args()
    actions = arguments.run + ("" if arguments.point is None else f"; point({arguments.point})")
    look(arguments.chromium, arguments.page, arguments.dark, LOOK + actions, "report()")


if __name__ == "__main__":
    main()
