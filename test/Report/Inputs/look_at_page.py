"""Opens a page of `ppopt plan --html` in a browser without a window, moves the
pointer over it, and prints what is to be seen.

    look_at_page.py CHROMIUM PAGE [--dark] [--point PLACE CELL] [--run SCRIPT]
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from browser import look

# Runs after the page's script. Counts pixels by the cells' colours.
LOOK = """
function count() {
  const counts = {};
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  for (const name of ["F", "B", "I", "W", "A", "U", "varying", "give", "back", "inside"]) {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colors[name].slice(at, at + 2), 16));
    let same = 0;
    for (let i = 0; i < data.length; i += 4)
      same += data[i] === r && data[i + 1] === g && data[i + 2] === b;
    counts[name] = same;
  }
  return counts;
}
function point(place, index) {
  const box = canvas.getBoundingClientRect(), cell = places[place].cells[index];
  const at = {bubbles: true, clientX: box.left + getX((cell.start + cell.end) / 2), clientY: box.top + getTop(place) + view.row / 2};
  canvas.dispatchEvent(new PointerEvent("pointermove", at));
}
function report() {
  const lines = [];
  try {
    draw();
    lines.push(`theme: ${document.documentElement.dataset.theme}`);
    lines.push(`cells: ${document.documentElement.dataset.cells}`);
    const counts = count();
    lines.push(`colours: ${Object.keys(counts).filter((name) => counts[name] > 20).join(" ")}`);
    for (const id of ["title", "tiles", "legend", "stage", "places", "tip"])
      lines.push(`${id}: ${document.getElementById(id).hidden ? "hidden" : document.getElementById(id).innerText.replace(/\\s+/g, " ")}`);
  } catch (error) {
    lines.push(`report: ${error}`);
  }
  return lines.join("\\n");
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chromium")
    parser.add_argument("page")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--point", nargs=2, type=int)
    parser.add_argument("--run", default="")
    arguments = parser.parse_args()

    actions = arguments.run
    if arguments.point:
        actions += "; point(%d, %d)" % tuple(arguments.point)
    look(arguments.chromium, arguments.page, arguments.dark, LOOK + actions, "report()")


if __name__ == "__main__":
    main()
