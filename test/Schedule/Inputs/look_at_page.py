"""Opens a page of `ppopt plan --html` in a browser without a window, moves the
pointer over it, and prints what is to be seen.

    look_at_page.py CHROMIUM PAGE [--dark] [--point PLACE CELL] [--run SCRIPT]
"""

import argparse
import os
import re
import sys

from browser import Browser

# Runs behind the page's script. Counts pixels by the cells' colours.
LOOK = """
function count() {
  const counts = {};
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  for (const name of ["F", "B", "I", "W", "varying", "give", "back"]) {
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

    with open(arguments.page, encoding="utf-8") as file:
        page = file.read()
    if re.search(r"(src|href)=\"(?!data:)|https?://|url\(", page):
        sys.exit("the page refers to something outside of it")
    actions = arguments.run
    if arguments.point:
        actions += "; point(%d, %d)" % tuple(arguments.point)
    with Browser(arguments.chromium, dark=arguments.dark) as browser:
        browser.open("file://" + os.path.abspath(arguments.page))
        browser.run(LOOK)
        # In one go: in between, the browser may send pointer events of its own.
        report = browser.run("{" + actions + "} report()")
    for message in browser.messages:
        print("console:", message)
    print("errors:", "; ".join(browser.errors) or "none")
    print(report)


if __name__ == "__main__":
    main()
