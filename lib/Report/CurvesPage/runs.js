// Unpacks the runs. `logged` holds flat arrays of numbers: steps [step, loss,
// norm, rate, ms, staleness], evaluations [step, loss], and of each metric its values at positions of both: [position, value];
// null where a number is unknown.

const runs = logged.map((run, index) => ({
  ...run, index, shown: true,
  steps: unflatten(run.steps, ["step", "loss", "norm", "rate", "ms", "staleness"]),
  evaluations: unflatten(run.evaluations, ["step", "loss"]),
}));

// A metric is a field of all steps and evaluations.
const metricNames = [...new Set(runs.flatMap((run) => run.metrics.map(({name}) => name)))];
function fieldOf(name) { return `metric ${name}`; }
for (const run of runs) {
  for (const record of [...run.steps, ...run.evaluations])
    for (const name of metricNames) record[fieldOf(name)] = null;
  for (const metric of run.metrics)
    for (const kind of ["steps", "evaluations"])
      for (const {position, value} of unflatten(metric[kind], ["position", "value"])) run[kind][position][fieldOf(metric.name)] = value;
}

// Seconds that a run has spent in steps; an evaluation is after the last step before it.
for (const run of runs) {
  let second = 0;
  for (const step of run.steps) step.second = second += (step.ms ?? 0) / 1e3;
  for (const evaluation of run.evaluations) evaluation.second = getSecond(run, evaluation.step);
}
function getSecond(run, step) { return run.steps[findAbove(run.steps, "step", step) - 1]?.second ?? 0; }

// The axis to the right: `at` of each record is its step or its second.
const axis = {field: "step", first: 0, last: 0};
function setAxis(field) {
  const records = runs.flatMap((run) => [...run.steps, ...run.evaluations]);
  for (const record of records) record.at = record[field];
  axis.field = field;
  axis.first = records.reduce((least, {at}) => Math.min(least, at), Infinity);
  axis.last = records.reduce((most, {at}) => Math.max(most, at), -Infinity);
  if (axis.last <= axis.first) axis.last = axis.first + 1;
}
setAxis("step");

const units = [...new Set(runs.filter((run) => run.steps.length).map((run) => run.unit === "tok" ? "tokens" : run.unit))];
const charts = [
  {field: "loss", name: "loss", part: 5, hasZero: false, canBeLogarithmic: true},
  ...metricNames.map((name) => ({field: fieldOf(name), name, part: 2.5, hasZero: false, canBeLogarithmic: false})),
  {field: "norm", name: "norm of the gradient", part: 2.5, hasZero: false, canBeLogarithmic: true},
  {field: "rate", name: `${units.join(" or ")} per second`, part: 2.5, hasZero: true, canBeLogarithmic: false},
  {field: "staleness", name: "staleness in steps", part: 2, hasZero: true, canBeLogarithmic: false},
].filter(({field}) => runs.some((run) => run.steps.some((step) => step[field] !== null) ||
                                        (field === "loss" && run.evaluations.length) || getEvaluated(run, field).length));

// The evaluations of a run that have a value of a field.
function getEvaluated(run, field) { return run.evaluations.filter((evaluation) => (evaluation[field] ?? null) !== null); }

// The first eight runs have the page's colours; more get hues around the wheel.
function getRunColor(index) { return index < 8 ? getColor(`run${index}`) : `hsl(${Math.round(index * 137.5) % 360} 60% 52%)`; }

// A mean of all steps so far, with the highest weight on the latest: `weight`
// to the power of a step's age. Its start is not biased towards zero.
function smooth(run, field, weight) {
  const key = `${field} ${weight}`;
  run.cache ??= new Map();
  if (!run.cache.has(key)) {
    let sum = 0, weights = 0;
    run.cache.set(key, run.steps.map((step) => {
      if (step[field] === null) return null;
      sum = sum * weight + step[field];
      weights = weights * weight + 1;
      return sum / weights;
    }));
  }
  return run.cache.get(key);
}

// Four significant digits; thousands and millions get a suffix.
function spellValue(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (size === 0 || (size >= 1e-3 && size < 1e4)) return String(Number(value.toPrecision(4)));
  return value.toExponential(2);
}

function spellDuration(seconds) {
  const whole = Math.round(seconds), two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}
