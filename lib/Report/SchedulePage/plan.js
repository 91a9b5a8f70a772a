// Unpacks the plan. `plan` holds flat arrays of numbers to keep the file small:
// cells [work, stage, microbatch, start, end], transfers [edge, microbatch,
// start, end], memory [time, bytes]; times in the plan's own unit. A stage has
// for each of its works the collectives inside a run: [name, channel, bytes,
// start, end, start of the wait, its end, hidden], from the run's beginning.

const works = [
  {letter: "F", name: "forward"},
  {letter: "B", name: "backward"},
  {letter: "I", name: "backward for inputs"},
  {letter: "W", name: "backward for weights"},
  {letter: "A", name: "waits for collectives", isOfStep: true, isIdle: true},
  {letter: "U", name: "update", isOfStep: true},
];

const channels = new Set();
for (const stage of plan.stages) {
  stage.inside = stage.collectives.map((inside) => inside.map(([name, channel, bytes, start, end, waitStart, waitEnd, hidden]) => {
    channels.add(channel);
    return {name, channel, bytes, start, end, waitStart, waitEnd, hidden};
  }));
  stage.waited = stage.inside.map((inside) => inside.reduce((sum, each) => sum + each.waitEnd - each.waitStart, 0));
}
const insideRows = [...channels].sort((a, b) => a - b); // of channels
const getInside = (cell) => plan.stages[cell.stage].inside[cell.work] || [];
const getWaited = (cell) => plan.stages[cell.stage].waited[cell.work] || 0;

const places = plan.places.map((place, index) => {
  const cells = unflatten(place.cells, ["work", "stage", "microbatch", "start", "end"]);
  const stages = plan.stages.map((stage, i) => i).filter((i) => plan.stages[i].place === index);
  const busy = cells.reduce((sum, cell) => sum + (works[cell.work].isIdle ? 0 : cell.end - cell.start - getWaited(cell)), 0);
  const resident = place.resident || [];
  const below = resident.reduce((sum, kind) => sum + kind[1], 0);
  const steps = unflatten(place.memory || [], ["time", "bytes"]);
  const varying = steps.reduce((most, step) => Math.max(most, step.bytes), 0);
  return {index, cells, stages, resident, below, steps, varying, peak: below + varying,
          hasMemory: below + varying > 0, idle: plan.end > 0 ? 1 - busy / plan.end : 0,
          sends: [], receives: new Map()};
});
const transfers = unflatten(plan.transfers, ["edge", "microbatch", "start", "end"]);
for (const transfer of transfers) {
  const edge = plan.edges[transfer.edge];
  transfer.from = plan.stages[edge.from].place;
  transfer.to = plan.stages[edge.to].place;
  places[transfer.from].sends.push(transfer);
  const key = `${edge.to} ${transfer.microbatch}`;
  const known = places[transfer.to].receives;
  if (!known.has(key)) known.set(key, []);
  known.get(key).push(transfer);
}
const hasMemory = places.some((place) => place.hasMemory);
const mostMemory = Math.max(1, ...places.map((place) => place.peak));
const mostVarying = Math.max(1, ...places.map((place) => place.varying));

const units = plan.unit > 0 ? [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]] : [[1, ""]];
function getUnit(time) {
  const nanoseconds = Math.abs(time) * (plan.unit > 0 ? plan.unit : 1);
  const [size, name] = units.find((unit) => nanoseconds >= unit[0]) || units[units.length - 1];
  return {size: size / (plan.unit > 0 ? plan.unit : 1), name: name && ` ${name}`};
}

// A duration, with three significant digits.
function spellTime(time) {
  const {size, name} = getUnit(time);
  return spellDigits(time / size) + name;
}

// A time, with enough digits to tell times apart that differ by `apart`.
function spellMoment(time, apart) {
  if (time === 0) return "0";
  const {size, name} = getUnit(time);
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(apart / size) - 1e-9)));
  return (time / size).toFixed(decimals) + name;
}

function spellBytes(bytes) {
  for (const [size, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (bytes >= size) return `${spellDigits(bytes / size)} ${name}`;
  return `${bytes} B`;
}

function spellShare(share) { return `${(100 * share).toFixed(1)} %`; }
