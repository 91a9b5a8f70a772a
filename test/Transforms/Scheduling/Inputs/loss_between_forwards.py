"""usage: loss_between_forwards.py < MODULE > CHANGED

In the evaluation schedule of place 0 the sum of the loss starts before the last run of a stage.
"""
import re
import sys

lines = sys.stdin.read().splitlines()
begin = None
for i, line in enumerate(list(lines)):
    if "pp.schedule" in line:
        begin = i if "pp.schedule 0" in line and "evaluation" in line else None
        last = None
    elif begin is not None and re.search(r"pp\.run @s\d", line):
        last = i
    elif begin is not None and last and "pp.start" in line and "<loss>" in line:
        lines.insert(last, lines.pop(i))
        begin = None
print("\n".join(lines))
