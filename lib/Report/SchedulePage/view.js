// The canvas: only what is visible is drawn, so that a step of many thousands
// of cells stays fast.

const gutter = 128, ruler = 30, bar = 5, gap = 8;
const timeline = document.getElementById("timeline");
const canvas = document.getElementById("canvas");
const context = canvas.getContext("2d");

const view = {
  start: 0, end: plan.end > 0 ? plan.end : 1, // the window of time
  row: 30, memory: 0,        // heights
  width: 0, height: 0,
  chosen: null,              // the item under the pointer: {place, cell, transfer, microbatch, stage}
  kept: -1,                  // the stage that was clicked
  showsTransfers: true, showsInside: true, memoryKind: "all",
};

let colors = {};
function readColors() {
  colors = {};
  for (const name of ["panel", "line", "grid", "text", "muted", "faint", "lane", "hatch", "give", "varying", "limit",
                      "resident0", "resident1", "resident2", "resident3", "on-cell", "shade", "inside", "F", "B", "I", "W", "A", "U"])
    colors[name] = getColor(name);
  colors.back = getColor("give-back");
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const on = tile.getContext("2d");
  on.fillStyle = colors.lane;
  on.fillRect(0, 0, 8, 8);
  on.strokeStyle = colors.hatch;
  on.beginPath();
  for (const shift of [-8, 0, 8]) { on.moveTo(shift, 8); on.lineTo(shift + 8, 0); }
  on.stroke();
  colors.idle = context.createPattern(tile, "repeat");
}

// Below a lane: bars of transfers, a row per channel of collectives inside
// tasks, memory.
function getBarsHeight() { return view.showsTransfers ? (view.row < 14 ? 2 : bar + 2) : 0; }
function getInsideHeight() { return view.showsInside && insideRows.length ? insideRows.length * (bar + 1) + 2 : 0; }
function getPitch() {
  return view.row + getBarsHeight() + getInsideHeight() + (view.memory ? view.memory + 4 : 0) + (view.row < 14 ? 1 : gap);
}
function getTop(place) { return ruler + 6 + place * getPitch() - timeline.scrollTop; }
function getX(time) { return gutter + (time - view.start) / (view.end - view.start) * (view.width - gutter - 12); }
function getTime(x) { return view.start + (x - gutter) / (view.width - gutter - 12) * (view.end - view.start); }

// Rows as high as the window allows, with memory below if there is room.
function chooseRows() {
  const room = (timeline.clientHeight - ruler - 14) / places.length, between = bar + 2 + gap + getInsideHeight();
  if (!hasMemory || room < between + 34) view.memoryKind = "off";
  view.row = Math.floor(view.memoryKind === "off" ? room - between : (room - between - 4) / 2.6);
  if (view.row < 14) view.row = Math.min(13, Math.floor(room - 3));
  view.row = Math.max(6, Math.min(44, view.row));
  setMemory();
  if (view.memory) view.memory = Math.min(110, Math.floor(room - between - 4 - view.row));
}
function setMemory() {
  view.memory = view.memoryKind === "off" ? 0 : Math.max(18, Math.round(view.row * 1.6));
}

function resize() {
  document.getElementById("content").style.height = `${ruler + 12 + places.length * getPitch()}px`;
  view.width = timeline.clientWidth;
  view.height = timeline.clientHeight;
  fitCanvas(canvas, context, view.width, view.height);
  draw();
}

let isScheduled = false;
function redraw() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => { isScheduled = false; draw(); });
}

function draw() {
  context.clearRect(0, 0, view.width, view.height);
  context.save();
  context.beginPath();
  context.rect(0, ruler, view.width, view.height - ruler);
  context.clip();
  drawGrid();
  let cells = 0;
  const visible = places.filter((place) => getTop(place.index) + getPitch() > ruler && getTop(place.index) < view.height);
  for (const place of visible) cells += drawLane(place);
  if (view.showsTransfers) drawLinks();
  for (const place of visible) drawGutter(place);
  context.restore();
  drawRuler();
  document.documentElement.dataset.cells = cells;
}

function getTicks() {
  return pickTicks(view.start, view.end, Math.max(2, (view.width - gutter) / 110));
}

function drawGrid() {
  context.fillStyle = colors.grid;
  for (const tick of getTicks()) context.fillRect(Math.round(getX(tick)), ruler, 1, view.height);
}

function drawRuler() {
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, view.width, ruler);
  context.fillStyle = colors.line;
  context.fillRect(0, ruler - 1, view.width, 1);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = colors.muted;
  const ticks = getTicks();
  for (const tick of ticks) {
    const x = getX(tick), text = spellMoment(tick, ticks.length > 1 ? ticks[1] - ticks[0] : tick), width = context.measureText(text).width;
    context.textAlign = "left";
    context.fillRect(Math.round(x), ruler - 6, 1, 5);
    context.fillText(text, Math.min(Math.max(x - width / 2, gutter - 2), view.width - width - 6), ruler / 2 - 2);
  }
  // The visible part of the step.
  const all = view.width - gutter - 12;
  if (view.end - view.start < plan.end * 0.999) {
    context.fillStyle = colors.line;
    context.fillRect(gutter, ruler - 3, all, 3);
    context.fillStyle = colors.muted;
    context.fillRect(gutter + view.start / plan.end * all, ruler - 3, Math.max(3, (view.end - view.start) / plan.end * all), 3);
  }
}

function drawGutter(place) {
  const top = getTop(place.index);
  context.fillStyle = colors.panel;
  context.fillRect(0, top - 4, gutter - 4, getPitch());
  context.textBaseline = "middle";
  context.textAlign = "left";
  const isSmall = view.row < 14;
  if (isSmall && place.index % Math.ceil(11 / getPitch())) return;
  context.fillStyle = colors.text;
  context.font = `600 ${isSmall ? 10 : 12}px system-ui, sans-serif`;
  context.fillText(isSmall ? String(place.index) : `place ${place.index}`, 12, top + Math.min(view.row / 2, 12));
  context.font = `${isSmall ? 9.5 : 11}px system-ui, sans-serif`;
  context.fillStyle = colors.muted;
  context.textAlign = "right";
  context.fillText(spellShare(place.idle), gutter - 12, top + Math.min(view.row / 2, 12));
  context.textAlign = "left";
  if (view.row >= 26 || view.memory)
    if (!isSmall) context.fillText(place.stages.length > 1 ? `stages ${place.stages.join(", ")}` : `stage ${place.stages[0]}`, 12, top + 26);
  if (view.memory > 20 && place.hasMemory) {
    context.fillStyle = colors.faint;
    const bytes = view.memoryKind === "all" ? place.peak : place.varying;
    context.fillText(`peak ${spellBytes(bytes)}`, 12, getMemoryTop(place) + view.memory / 2 + 4);
  }
}

// The stages of a place have different shades.
function getFill(cell, place) {
  const rank = place.stages.indexOf(cell.stage);
  return mix(colors[works[cell.work].letter], colors.shade, Math.min(0.5, 0.24 * rank));
}
const mixed = new Map();
function mix(color, other, share) {
  if (!share) return color;
  const key = `${color} ${other} ${share}`;
  if (!mixed.has(key)) {
    const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const a = parse(color), b = parse(other);
    mixed.set(key, `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(" ")})`);
  }
  return mixed.get(key);
}

function isDimmed(cell) {
  return view.chosen !== null && view.chosen.microbatch >= 0 && cell.microbatch !== view.chosen.microbatch;
}

function drawLane(place) {
  const top = getTop(place.index), left = Math.max(gutter, getX(0)), right = Math.min(view.width, getX(plan.end));
  context.fillStyle = colors.idle;
  context.fillRect(left, top, right - left, view.row);
  let drawn = 0, covered = -1;
  for (let i = findAbove(place.cells, "end", view.start); i < place.cells.length; i++) {
    const cell = place.cells[i];
    if (cell.start >= view.end) break;
    drawn++;
    const x = Math.max(getX(cell.start), gutter - 4), end = Math.min(getX(cell.end), view.width + 4);
    const isChosen = view.chosen !== null && !isDimmed(cell) && view.chosen.microbatch >= 0;
    if (end < covered && !isChosen) continue; // within a pixel that is filled already
    const width = end - x, space = width > 5 ? 1 : 0;
    context.globalAlpha = isDimmed(cell) ? 0.28 : 1;
    context.fillStyle = getFill(cell, place);
    if (width > 6 && view.row > 10) {
      context.beginPath();
      context.roundRect(x, top, width - space, view.row, 3);
      context.fill();
      drawWaits(cell, top, view.row);
      drawLabel(cell, place, x, top, width - space);
    } else {
      context.fillRect(x, top, Math.max(0.8, width - space), view.row);
      covered = x + 0.8;
    }
    context.globalAlpha = 1;
  }
  if (view.showsTransfers) drawBars(place);
  if (view.showsInside && insideRows.length) drawInside(place);
  if (view.memory) drawMemory(place);
  return drawn;
}

function drawLabel(cell, place, x, top, width) {
  const size = Math.min(width < 18 ? 10 : 12, view.row - 2);
  if (size < 8 || width < 7) return;
  context.font = `${width > 30 ? 600 : 500} ${size}px system-ui, sans-serif`;
  const {letter, isOfStep} = works[cell.work];
  const texts = [isOfStep ? letter : `${cell.microbatch}`];
  if (width >= 22 && !isOfStep) texts.unshift(`${letter}${cell.microbatch}`);
  if (place.stages.length > 1 && !isOfStep) texts.unshift(`${letter}${cell.microbatch} · s${cell.stage}`);
  const text = texts.find((candidate) => context.measureText(candidate).width + (width < 18 ? 1 : 4) <= width);
  if (text === undefined) return;
  context.fillStyle = colors["on-cell"];
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x + width / 2, top + view.row / 2 + 0.5);
}

function getLinkColor(transfer) { return plan.edges[transfer.edge].gradient ? colors.back : colors.give; }

// Bars below the lane: when the place sends.
function drawBars(place) {
  const isSmall = view.row < 14, top = getTop(place.index) + view.row + (isSmall ? 0 : 2), height = isSmall ? 1.5 : bar - 2;
  for (const transfer of place.sends) {
    if (transfer.end < view.start) continue;
    if (transfer.start > view.end) break;
    const x = Math.max(gutter, getX(transfer.start)), end = Math.min(view.width, getX(transfer.end));
    context.globalAlpha = isDimmed(transfer) ? 0.15 : 0.8;
    context.fillStyle = getLinkColor(transfer);
    context.fillRect(x, top, Math.max(1.5, end - x), height);
  }
  context.globalAlpha = 1;
}

// Links from the sender's lane to the receiver's: all if there is room, else
// those of the selected microbatch.
function drawLinks() {
  const isChosen = view.chosen !== null && view.chosen.microbatch >= 0;
  const first = transfers.filter((transfer) => transfer.end >= view.start && transfer.start <= view.end);
  const shown = isChosen ? first.filter((transfer) => !isDimmed(transfer)) : first;
  if (!isChosen && shown.length * 10 > (view.width - gutter) * Math.sqrt(places.length)) return;
  context.save();
  context.beginPath();
  context.rect(gutter - 4, ruler, view.width, view.height);
  context.clip();
  for (const transfer of shown) {
    const down = transfer.to > transfer.from;
    const x1 = getX(transfer.start), x2 = getX(transfer.end);
    const y1 = getTop(transfer.from) + (down ? view.row : 0), y2 = getTop(transfer.to) + (down ? 0 : view.row);
    if (Math.max(y1, y2) < ruler || Math.min(y1, y2) > view.height) continue;
    context.strokeStyle = context.fillStyle = getLinkColor(transfer);
    context.globalAlpha = isChosen ? 0.95 : 0.42;
    context.lineWidth = isChosen ? 1.8 : 1.2;
    const bend = (y2 - y1) * 0.45;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2 - (down ? 4 : -4));
    context.stroke();
    if (view.row < 14) continue;
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 3, y2 - (down ? 5 : -5));
    context.lineTo(x2 + 3, y2 - (down ? 5 : -5));
    context.fill();
  }
  context.restore();
}

// Where a run waits for collectives inside it.
function drawWaits(cell, top, height, channel = null) {
  context.fillStyle = colors.A;
  for (const each of getInside(cell)) {
    if (channel !== null && each.channel !== channel) continue;
    const x = Math.max(gutter, getX(cell.start + each.waitStart)), end = Math.min(view.width, getX(cell.start + each.waitEnd));
    if (end > x) context.fillRect(x, top, Math.max(0.5, end - x), height);
  }
}

// Rows below the lane: when collectives inside tasks are in flight, and which
// part of that is exposed. In a cell of a few pixels nothing could be told apart.
function getInsideTop(place) { return getTop(place.index) + view.row + getBarsHeight() + 2; }
function drawInside(place) {
  const least = 4;
  for (let i = findAbove(place.cells, "end", view.start); i < place.cells.length; i++) {
    const cell = place.cells[i];
    if (cell.start >= view.end) break;
    if (getX(cell.end) - getX(cell.start) < least) continue;
    context.globalAlpha = isDimmed(cell) ? 0.28 : 1;
    insideRows.forEach((channel, row) => {
      const top = getInsideTop(place) + row * (bar + 1);
      context.fillStyle = colors.inside;
      for (const each of getInside(cell)) {
        if (each.channel !== channel) continue;
        const x = Math.max(gutter, getX(cell.start + each.start)), end = Math.min(view.width, getX(cell.start + each.end));
        if (end > x) context.fillRect(x, top, Math.max(0.8, end - x - 0.5), bar);
      }
      drawWaits(cell, top, bar, channel);
    });
  }
  context.globalAlpha = 1;
}

function getMemoryTop(place) { return getTop(place.index) + view.row + getBarsHeight() + getInsideHeight() + 2; }

function drawMemory(place) {
  if (!place.hasMemory) return;
  const isAll = view.memoryKind === "all";
  const most = isAll ? Math.max(mostMemory, plan.deviceMemory <= mostMemory * 1.6 ? plan.deviceMemory : 0) : mostVarying;
  const top = getMemoryTop(place), bottom = top + view.memory, high = (bytes) => bytes / most * view.memory;
  const left = Math.max(gutter, getX(0)), right = Math.min(view.width, getX(plan.end));
  let base = bottom;
  if (isAll)
    place.resident.forEach(([, bytes], kind) => {
      context.fillStyle = colors[`resident${Math.min(kind, 3)}`];
      context.fillRect(left, base - high(bytes), right - left, high(bytes));
      base -= high(bytes);
    });
  context.beginPath();
  context.moveTo(left, base);
  let level = 0;
  for (let i = Math.max(0, findAbove(place.steps, "time", view.start) - 1); i < place.steps.length; i++) {
    const step = place.steps[i];
    if (step.time > view.end) break;
    const x = Math.max(left, getX(step.time));
    context.lineTo(x, base - high(level));
    level = step.bytes;
    context.lineTo(x, base - high(level));
  }
  context.lineTo(right, base - high(level));
  context.lineTo(right, base);
  context.fillStyle = colors.varying;
  context.fill();
  context.fillStyle = colors.line;
  context.fillRect(left, bottom, right - left, 1);
  if (isAll && plan.deviceMemory > 0 && plan.deviceMemory <= most) {
    context.strokeStyle = colors.limit;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(left, bottom - high(plan.deviceMemory));
    context.lineTo(right, bottom - high(plan.deviceMemory));
    context.stroke();
    context.setLineDash([]);
  }
}
