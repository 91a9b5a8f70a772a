// Shared by the pages: elements, records, numbers, ticks, the tooltip, light
// and dark.

const find = (id) => document.getElementById(id);

// Creates an element with attributes and children; strings become text.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeTable(heads, rows) {
  const cell = (tag, content) => make(tag, {}, content);
  return make("div", {class: "scroll"}, make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((head) => cell("th", head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((content) => cell("td", content)))))));
}

// Returns records from a flat array, which keeps the file small.
function unflatten(flat, fields) {
  const records = [];
  for (let at = 0; at < flat.length; at += fields.length) {
    const record = {};
    fields.forEach((field, i) => { record[field] = flat[at + i]; });
    records.push(record);
  }
  return records;
}

// Returns the first index whose record has `field` above `value`.
function findAbove(records, field, value) {
  let low = 0, high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle][field] > value) high = middle; else low = middle + 1;
  }
  return low;
}

// Three significant digits.
function spellDigits(number) {
  const size = Math.abs(number);
  return number.toFixed(size >= 100 || Number.isInteger(number) ? 0 : size >= 10 ? 1 : 2);
}

// Returns about `most` round numbers in [start, end].
function pickTicks(start, end, most) {
  const wanted = (end - start) / most;
  let step = 10 ** Math.floor(Math.log10(wanted));
  step *= [1, 2, 5, 10].find((factor) => step * factor >= wanted * 0.999);
  const ticks = [];
  for (let i = Math.ceil(start / step - 1e-9); i * step <= end + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

// Scales the canvas for screens with more than one pixel per page pixel.
function fitCanvas(canvas, context, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function getColor(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

// Places the tooltip next to the pointer, left of `right`.
function placeTip(tip, event, right) {
  const x = event.clientX + 16, y = event.clientY + 18;
  tip.style.left = `${x + tip.offsetWidth > right - 8 ? event.clientX - tip.offsetWidth - 12 : x}px`;
  tip.style.top = `${y + tip.offsetHeight > innerHeight - 8 ? event.clientY - tip.offsetHeight - 12 : y}px`;
}

// Uses light or dark as the browser prefers, until the button "theme" selects
// one; calls `changed` for each, including the first.
function followTheme(changed) {
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    changed();
  };
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  prefersDark.addEventListener("change", () => set(prefersDark.matches ? "dark" : "light"));
  find("theme").addEventListener("click", () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  set(prefersDark.matches ? "dark" : "light");
}
