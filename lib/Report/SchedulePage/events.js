// Pointer, keys and buttons.

function choose(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const index = Math.floor((y - getTop(0)) / getPitch());
  if (y < ruler || index < 0 || index >= places.length || x > getX(plan.end)) return null;
  const place = places[index], within = y - getTop(index);
  if (x < gutter)
    return null;
  const time = getTime(x);
  if (view.memory && y >= getMemoryTop(place) && y <= getMemoryTop(place) + view.memory && place.hasMemory)
    return {place: index, cell: null, stage: -1, microbatch: -1, time, isMemory: true};
  const cell = place.cells[findAbove(place.cells, "end", time)];
  if (view.showsInside && insideRows.length && y >= getInsideTop(place)) {
    const channel = insideRows[Math.floor((y - getInsideTop(place)) / (bar + 1))];
    const inside = cell && getInside(cell).find((each) =>
        each.channel === channel && cell.start + each.start <= time && time <= cell.start + each.end);
    return inside ? {place: index, cell, inside, stage: cell.stage, microbatch: cell.microbatch, time} : null;
  }
  if (within > view.row) return null;
  if (!cell || cell.start > time) return {place: index, cell: null, stage: -1, microbatch: -1, time};
  if (works[cell.work].isOfStep) return {place: index, cell, stage: -1, microbatch: -1, time};
  return {place: index, cell, stage: cell.stage, microbatch: cell.microbatch, time};
}

function setChosen(chosen, event) {
  const same = view.chosen && chosen && view.chosen.cell === chosen.cell && view.chosen.inside === chosen.inside && view.chosen.microbatch === chosen.microbatch;
  view.chosen = chosen;
  showTip(event);
  showStage();
  markPlace();
  if (!same) redraw();
}

function setWindow(start, end) {
  const least = plan.end * 1e-5, width = Math.min(Math.max(end - start, least), plan.end);
  view.start = Math.min(Math.max(0, start), plan.end - width);
  view.end = view.start + width;
  redraw();
}
function zoom(factor, time) {
  setWindow(time - (time - view.start) * factor, time + (view.end - time) * factor);
}
function zoomMiddle(factor) { zoom(factor, (view.start + view.end) / 2); }
function move(share) {
  const width = view.end - view.start;
  const start = Math.min(Math.max(0, view.start + share * width), plan.end - width);
  setWindow(start, start + width);
}

let drag = null;
timeline.addEventListener("pointerdown", (event) => {
  drag = {x: event.clientX, y: event.clientY, start: view.start, end: view.end, top: timeline.scrollTop, moved: false};
});
addEventListener("pointermove", (event) => {
  if (!drag) {
    if (timeline.contains(event.target)) setChosen(choose(event), event);
    else if (view.chosen) setChosen(null, event);
    return;
  }
  const dx = event.clientX - drag.x;
  if (!drag.moved && Math.hypot(dx, event.clientY - drag.y) < 4) return;
  drag.moved = true;
  timeline.classList.add("dragging");
  setChosen(null, event);
  const shift = dx / (view.width - gutter - 12) * (drag.end - drag.start);
  const start = Math.min(Math.max(0, drag.start - shift), plan.end - (drag.end - drag.start));
  setWindow(start, start + drag.end - drag.start);
  timeline.scrollTop = drag.top - (event.clientY - drag.y);
});
addEventListener("pointerup", (event) => {
  if (drag && !drag.moved && timeline.contains(event.target)) {
    const chosen = choose(event);
    view.kept = chosen && chosen.stage !== view.kept ? chosen.stage : -1;
    showStage();
  }
  drag = null;
  timeline.classList.remove("dragging");
});
timeline.addEventListener("wheel", (event) => {
  const isHigh = timeline.scrollHeight > timeline.clientHeight + 1;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    move((event.deltaX || event.deltaY) / view.width);
  } else if (event.ctrlKey || event.metaKey || !isHigh) {
    zoom(Math.exp(event.deltaY * 0.0022), Math.max(getTime(event.clientX - canvas.getBoundingClientRect().left), view.start));
  } else {
    return;
  }
  event.preventDefault();
}, {passive: false});
timeline.addEventListener("scroll", redraw);
timeline.addEventListener("dblclick", () => setWindow(0, plan.end));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
  const actions = {
    w: () => zoomMiddle(0.7), s: () => zoomMiddle(1 / 0.7), a: () => move(-0.15), d: () => move(0.15),
    ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), f: () => setWindow(0, plan.end),
    Escape: () => { view.kept = -1; setChosen(null, event); },
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action) action();
});

find("in").addEventListener("click", () => zoomMiddle(0.6));
find("out").addEventListener("click", () => zoomMiddle(1 / 0.6));
find("fit").addEventListener("click", () => setWindow(0, plan.end));
find("transfers").addEventListener("change", (event) => { view.showsTransfers = event.target.checked; resize(); });
find("inside").addEventListener("change", (event) => { view.showsInside = event.target.checked; resize(); });
find("memory").addEventListener("change", (event) => { view.memoryKind = event.target.value; setMemory(); resize(); });
find("rows").addEventListener("input", (event) => { view.row = Number(event.target.value); setMemory(); resize(); });

followTheme(() => { readColors(); redraw(); });
showTiles();
showLegend();
showStage();
showPlaces();
chooseRows();
find("memory").value = view.memoryKind;
find("memory-label").hidden = !hasMemory;
find("inside-label").hidden = !insideRows.length;
find("rows").value = view.row;
new ResizeObserver(resize).observe(timeline);
