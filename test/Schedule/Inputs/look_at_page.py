"""Opens a page of `ppopt plan --html` in a browser without a window, moves the
pointer over it, and prints what is to be seen.

    look_at_page.py CHROMIUM PAGE [--dark] [--point PLACE CELL] [--run SCRIPT]
"""

import argparse
import html
import os
import re
import subprocess
import sys
import tempfile

# Runs before anything of the page.
WATCH = """<script>
const seen = [];
addEventListener("error", (event) => seen.push(event.message));
for (const level of ["error", "warn"]) {
  const log = console[level];
  console[level] = (...words) => { seen.push(words.join(" ")); log(...words); };
}
</script>"""

# Runs behind the page's script. Counts pixels by the cells' colours.
LOOK = """<script>
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
  const lines = [`errors: ${seen.join("; ") || "none"}`];
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
  document.body.append(Object.assign(document.createElement("pre"), {id: "report", textContent: lines.join("\\n")}));
}
// Waits until the page was laid out and drawn (a broken one never is), then acts
// and reports in one go: between the two, the browser may send events of its own.
let waits = 100;
function look() {
  if (!(Number(document.documentElement.dataset.cells) > 0) && waits-- > 0) return setTimeout(look, 20);
  ACTIONS;
  report();
}
look();
</script>"""


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
    page = page.replace("<head>", "<head>" + WATCH, 1)
    page = page.replace("</body>", LOOK.replace("ACTIONS", actions) + "</body>", 1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        command = [arguments.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder,
                   "--window-size=1440,900", "--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom",
                   "--blink-settings=preferredColorScheme=" + ("0" if arguments.dark else "1"), "file://" + path]
        browser = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    for line in browser.stderr.splitlines():
        if "CONSOLE" in line:
            print("console:", line)
    found = re.search(r"<pre id=\"report\">(.*?)</pre>", browser.stdout, re.DOTALL)
    if browser.returncode != 0 or not found:
        sys.exit("the browser shows nothing:\n" + browser.stderr)
    print(html.unescape(found.group(1)))


if __name__ == "__main__":
    main()
