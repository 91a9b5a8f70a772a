"""The table of the results, for people."""
import textwrap

from parts import PARTS, load

WIDTH = 100


def cut(line):
    return line if len(line) < WIDTH else line[:WIDTH - 2] + "…"


def wrap(text):
    return textwrap.wrap(text, WIDTH - 1, initial_indent="  ", subsequent_indent="    ")


def table(results):
    bundle = results["bundle"]
    lines = [f"test/gpu/run, {results['date']}; ppopt {(bundle['commit'] or 'of no commit')[:12]}" + (", a tiny bundle" if bundle["tiny"] else "")
             + (", no GPU" if results["fake"] else ""), ""]
    for name, part in results["parts"].items():
        lines.append(f"{name:<14}{part['status']:<9}{part['seconds']:6.1f} s  {PARTS[name].title}")
    for name, part in results["parts"].items():
        lines += ["", f"{name}: {PARTS[name].title}"]
        if part["reason"]:
            lines += wrap(f"{part['status']}: {part['reason']}")
        for line, run in part["found"].get("fallbacks", {}).items():
            lines += wrap(f"{run}: {line}")
        try:
            lines += ["  " + line if line else "" for line in load(name).lines(part["found"])]
        except Exception as error:  # whatever the part has found must not keep the rest from being printed
            lines.append(f"  (what it has found can't be printed: {type(error).__name__}: {error})")
    counts = [f"{sum(part['status'] == status for part in results['parts'].values())} {status}" for status in ("passed", "failed", "skipped")]
    return "\n".join([cut(line) for line in lines] + ["", ", ".join(counts)]) + "\n"


def columns(rows, heads):
    """Lines of a table, none if it has no rows: text to the left, numbers (already text) to the right. A column is numeric if its head begins with
    a space."""
    if not rows:
        return []
    widths = [max(len(head.strip()), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]

    def line(cells):
        return "  ".join(cell.strip().rjust(width) if head.startswith(" ") else cell.ljust(width)
                         for cell, head, width in zip(cells, heads, widths)).rstrip()
    return [line(heads), *map(line, rows)]


def number(value, digits=1):
    """"-" for what was not measured."""
    return "-" if value is None else f"{value:,.{digits}f}"
