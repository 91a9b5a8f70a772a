// The details next to the timeline: tiles, legend, the stage under the pointer,
// the table of places.

function showTiles() {
  document.getElementById("title").textContent = plan.title;
  document.getElementById("subtitle").textContent = plan.subtitle;
  const idle = places.map((place) => place.idle), worst = idle.indexOf(Math.max(...idle));
  const sent = transfers.reduce((sum, transfer) => sum + plan.edges[transfer.edge].bytes, 0);
  const fullest = places.reduce((most, place) => place.peak > most.peak ? place : most, places[0]);
  const tiles = [
    ["step, predicted", spellTime(plan.end), ""],
    ["idle", spellShare(idle.reduce((sum, share) => sum + share, 0) / places.length), `most: place ${worst}, ${spellShare(idle[worst])}`],
    ["between places", spellBytes(sent), `${transfers.length} transfers`],
  ];
  if (hasMemory)
    tiles.push(["most memory", spellBytes(fullest.peak),
                `place ${fullest.index}` + (plan.deviceMemory > 0 ? ` of ${spellBytes(plan.deviceMemory)}` : ""),
                plan.deviceMemory > 0 && fullest.peak > plan.deviceMemory ? "over" : ""]);
  document.getElementById("tiles").replaceChildren(...tiles.map(([name, value, note, kind = ""]) =>
      make("div", {class: kind}, make("dt", {}, name), make("dd", {}, value, " ", make("small", {}, note)))));
}

function showLegend() {
  const used = new Set(places.flatMap((place) => place.cells.map((cell) => cell.work)));
  if (plan.stages.some((stage) => stage.waited.some((time) => time > 0)))
    used.add(works.findIndex((work) => work.letter === "A"));
  const items = works.filter((work, i) => used.has(i)).map((work) => [`var(--${work.letter})`, "", work.name]);
  items.push(["repeating-linear-gradient(135deg, var(--lane) 0 3px, var(--hatch) 3px 4px)", "", "idle"]);
  if (transfers.length) {
    items.push(["var(--give)", "thin", "transfer"]);
    if (plan.edges.some((edge) => edge.gradient)) items.push(["var(--give-back)", "thin", "transfer of a gradient"]);
  }
  if (insideRows.length) items.push(["var(--inside)", "thin", "collective inside a task"]);
  if (hasMemory) {
    const kinds = places.reduce((most, place) => place.resident.length > most.length ? place.resident : most, []);
    kinds.forEach(([kind], i) => items.push([`var(--resident${Math.min(i, 3)})`, "", kind]));
    items.push(["var(--varying)", "", "activations"]);
  }
  document.getElementById("legend").replaceChildren(...items.map(([color, thin, name]) =>
      make("li", {}, make("i", {style: `background: ${color}`, class: thin}), name)));
}

let shownStage = null;
function showStage() {
  const index = view.kept >= 0 ? view.kept : view.chosen ? view.chosen.stage : -1;
  const key = `${index} ${view.kept >= 0}`;
  if (key === shownStage) return;
  shownStage = key;
  const panel = document.getElementById("stage");
  if (index < 0) {
    panel.replaceChildren(make("h2", {}, "Stages"), make("p", {}, "Point at a cell to see its stage's parameters and what crosses its boundaries."));
    return;
  }
  const stage = plan.stages[index];
  const parts = [make("h2", {}, `Stage ${index}`, make("small", {}, `on place ${stage.place}` + (view.kept >= 0 ? ", kept" : "")))];
  parts.push(make("p", {}, `F ${spellTime(stage.forward)}` +
      (stage.backward ? `, I ${spellTime(stage.input)}, W ${spellTime(stage.weight)}` : ", no backward") + " per microbatch"));
  if (stage.inside.some((inside) => inside.length)) {
    parts.push(make("h3", {}, "Collectives inside its tasks"));
    parts.push(makeTable(["", "bytes", "hidden", "exposed"], stage.inside.flatMap((inside, work) => inside.map((each) => [
      `${works[work].letter}: ${each.name}`, spellBytes(each.bytes), spellTime(each.hidden), spellTime(each.waitEnd - each.waitStart)]))));
  }
  if (stage.inputs.length) parts.push(make("h3", {}, "Reads the inputs"), make("p", {}, stage.inputs.join(", ")));
  if (stage.boundaries.length) {
    parts.push(make("h3", {}, "Boundaries"));
    parts.push(makeTable(["", "bytes"], stage.boundaries.map((boundary) => [
      describeBoundary(boundary), spellBytes(boundary.bytes)])));
  }
  if (stage.parameters.length) {
    const all = stage.parameters.reduce((sum, parameter) => sum + parameter.bytes, 0);
    parts.push(make("h3", {}, `Parameters: ${stage.parameters.length}, ${spellBytes(all)}`));
    parts.push(makeTable(["", "type", "bytes"], stage.parameters.map((parameter) => [
      parameter.name, make("code", {}, parameter.type), spellBytes(parameter.bytes)])));
  }
  panel.replaceChildren(...parts);
}

function describeBoundary(boundary) {
  const tag = (text, kind) => make("span", {class: `tag ${kind}`}, text);
  const line = make("div", {}, `${boundary.received ? "from" : "to"} stage ${boundary.peer} `, tag(boundary.name, ""));
  if (boundary.gradient) line.append(" ", tag("gradient", "grad"));
  if (boundary.requiresGrad) line.append(" ", tag("requires_grad", "grad"));
  if (boundary.link) line.append(` over ${boundary.link}`);
  return make("div", {}, line, make("code", {}, boundary.type));
}

// The figures of a place are listed vertically: they would not fit side by
// side.
function showPlaces() {
  const rows = places.map((place, i) => {
    const figures = plan.figures.map(([name, values]) =>
        make("div", {class: "figure"}, make("span", {}, name), values[i] ?? ""));
    return [String(i), place.stages.join(", "), spellShare(place.idle), make("div", {}, ...figures)];
  });
  const table = makeTable(["place", "stages", "idle", ""], rows);
  table.style.maxHeight = "none";
  document.getElementById("places").replaceChildren(make("h2", {}, "Places"), table);
}

function markPlace() {
  const rows = document.querySelectorAll("#places tbody tr");
  rows.forEach((row, i) => row.classList.toggle("chosen", view.chosen !== null && view.chosen.place === i));
}

// Returns why a place is idle: what its next cell waits for.
function describeIdle(place, time) {
  const next = place.cells.find((cell) => cell.start > time);
  if (!next) return ["idle until the end of the step"];
  const previous = place.cells[place.cells.indexOf(next) - 1];
  const lines = [`idle for ${spellTime(next.start - (previous ? previous.end : 0))}`];
  const late = (place.receives.get(`${next.stage} ${next.microbatch}`) || [])
      .filter((transfer) => plan.edges[transfer.edge].gradient === (next.work !== 0))
      .find((transfer) => Math.abs(transfer.end - next.start) <= plan.end * 1e-6);
  const name = `${works[next.work].letter}${next.microbatch} of stage ${next.stage}`;
  lines.push(late ? `${name} waits for ${plan.edges[late.edge].name} from place ${late.from}` : `then ${name}`);
  return lines;
}

function describeInside(cell, inside, apart) {
  return [`${inside.name}, ${spellBytes(inside.bytes)}`,
          `inside ${works[cell.work].letter}${cell.microbatch} of stage ${cell.stage}`,
          `in flight for ${spellTime(inside.end - inside.start)}, from ${spellMoment(cell.start + inside.start, apart)}`,
          `hidden ${spellTime(inside.hidden)}, exposed ${spellTime(inside.waitEnd - inside.waitStart)}`];
}

function describeChosen() {
  const {place: index, cell, time, isMemory} = view.chosen, place = places[index];
  if (isMemory) {
    const step = place.steps[findAbove(place.steps, "time", time) - 1];
    const bytes = step ? step.bytes : 0;
    return [`place ${index}: ${spellBytes(place.below + bytes)}`, `activations ${spellBytes(bytes)}`,
            ...place.resident.map(([kind, size]) => `${kind} ${spellBytes(size)}`)];
  }
  if (!cell) {
    const [first, ...rest] = describeIdle(place, time);
    return [`place ${index}, ${first}`, ...rest];
  }
  const apart = (cell.end - cell.start) / 20 || plan.end;
  if (works[cell.work].isOfStep)
    return [`place ${index}: ${works[cell.work].name}`,
            `${spellTime(cell.end - cell.start)}, from ${spellMoment(cell.start, apart)} to ${spellMoment(cell.end, apart)}`];
  if (view.chosen.inside) return describeInside(cell, view.chosen.inside, apart);
  const lines = [`${works[cell.work].name}, microbatch ${cell.microbatch}`,
                 `stage ${cell.stage} on place ${index}`,
                 `${spellTime(cell.end - cell.start)}, from ${spellMoment(cell.start, apart)} to ${spellMoment(cell.end, apart)}`];
  if (getWaited(cell) > 0) lines.push(`waits ${spellTime(getWaited(cell))} of that for collectives inside it`);
  for (const transfer of place.sends.filter((sent) => sent.microbatch === cell.microbatch)) {
    const edge = plan.edges[transfer.edge];
    if (edge.from === cell.stage && edge.gradient === (cell.work !== 0) && cell.work !== 3)
      lines.push(`sends ${edge.name} to place ${transfer.to}: ${spellBytes(edge.bytes)}, there at ${spellMoment(transfer.end, apart)}`);
  }
  return lines;
}

function showTip(event) {
  const tip = document.getElementById("tip");
  tip.hidden = view.chosen === null;
  if (tip.hidden) return;
  const [first, ...rest] = describeChosen();
  tip.replaceChildren(make("b", {}, first), ...rest.map((line) => make("div", {}, line)));
  placeTip(tip, event, timeline.getBoundingClientRect().right);
}
