// Unpacks the runs. `logged` holds flat arrays of numbers: steps [step, loss,
// norm, rate], evaluations [step, loss]; null where a number is unknown.

const runs = logged.map((run, index) => ({
  ...run, index, shown: true,
  steps: unflatten(run.steps, ["step", "loss", "norm", "rate"]),
  evaluations: unflatten(run.evaluations, ["step", "loss"]),
}));
const ends = runs.flatMap((run) => [run.steps, run.evaluations]).filter((records) => records.length)
    .map((records) => [records[0].step, records[records.length - 1].step]);
const firstStep = Math.min(...ends.map(([first]) => first)), lastStep = Math.max(...ends.map(([, last]) => last));

const units = [...new Set(runs.filter((run) => run.steps.length).map((run) => run.unit === "tok" ? "tokens" : run.unit))];
const charts = [
  {field: "loss", name: "loss", part: 5, hasZero: false, canBeLogarithmic: true},
  {field: "norm", name: "norm of the gradient", part: 2.5, hasZero: false, canBeLogarithmic: true},
  {field: "rate", name: `${units.join(" or ")} per second`, part: 2.5, hasZero: true, canBeLogarithmic: false},
].filter((chart) => runs.some((run) => run.steps.some((step) => step[chart.field] !== null) ||
                                       (chart.field === "loss" && run.evaluations.length)));

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
