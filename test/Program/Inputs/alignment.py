"""Prints of what the offsets and sizes of regions and the offsets of temporaries, in a module on stdin, are multiples: of 2^n."""

import math
import re
import sys

text = sys.stdin.read()
regions = re.findall(r"pp\.region .* at (\d+) bytes (\d+)", text)
temporaries = re.findall(r"pp\.temp (\d+)", text)
together = math.gcd(*map(int, temporaries), *(int(number) for pair in regions for number in pair))
print(f"{len(regions)} regions, {len(temporaries)} temporaries: multiples of {together & -together}")
