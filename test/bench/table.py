"""The table of goals: a line for each, printed as soon as it is known and kept in a file."""
import json
import os

HEADINGS = ("what", "ours", "theirs", "ratio", "median", "goal", "")


class Table:
    """Lines by name, in the order of their first mention; a line measured again replaces the one before."""

    def __init__(self, path):
        self.path, self.lines = path, {}
        if path and os.path.exists(path):
            with open(path) as file:
                self.lines = {line["what"]: line for line in json.load(file)}

    def add(self, what, goal=None, ours=None, theirs=None, unit="", figure=None, median=None, least=False, note=None):
        """`figure` is held against `goal`: at most, or with `least` at least. Without a goal it is for the reader. `note`:
        why there is no figure, or what `theirs` is, if not PyTorch's."""
        met = None if goal is None or figure is None else figure >= goal if least else figure <= goal
        line = dict(what=what, ours=ours, theirs=theirs, unit=unit, figure=figure, median=median, goal=goal, least=least,
                    met=met, note=note)
        self.lines[what] = line
        print("  " + format_line(line), flush=True)
        if self.path:
            with open(self.path + ".part", "w") as file:
                json.dump(list(self.lines.values()), file, indent=1)
                file.write("\n")
            os.replace(self.path + ".part", self.path)

    def markdown(self):
        rows = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
        return "\n".join(rows + ["| " + " | ".join(cells(line)) + " |" for line in self.lines.values()])


def amount(value, unit):
    if value is None:
        return ""
    return f"{value:.3g} {unit}" if value < 10 else f"{value:.0f} {unit}"


def cells(line):
    """The text of a line's cells."""
    goal = "" if line["goal"] is None else f"{'≥' if line['least'] else '≤'} {line['goal']:.2f}"
    verdict = {None: "", True: "met", False: "not met"}[line["met"]]
    if line["note"]:
        verdict = f"{verdict}; {line['note']}".removeprefix("; ")
    ratios = ["" if value is None else f"{value:.2f}" for value in (line["figure"], line["median"])]
    return [line["what"], amount(line["ours"], line["unit"]), amount(line["theirs"], line["unit"]), *ratios, goal, verdict]


def format_line(line):
    what, ours, theirs, ratio, median, goal, verdict = cells(line)
    return f"{what:<58} {ours:>12} {theirs:>12}  {ratio:>5} {median and f'({median})':>7}  {goal:<7} {verdict}".rstrip()
