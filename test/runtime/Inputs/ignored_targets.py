"""ignored_targets.py FILE IGNORED COUNTED [FIRST]: writes samples of the inputs
`tokens` (FIRST, FIRST + 1, ...) and `targets`: first those without a target to
count, then those with."""

import json
import struct
import sys

ignored, counted = int(sys.argv[2]), int(sys.argv[3])
first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
samples, width = ignored + counted, 8
size = 4 * samples * width
tokens = [(first + i) % 256 for i in range(samples * width)]
targets = [-100] * ignored * width + [7] * counted * width
header = json.dumps({
    "tokens": {"dtype": "I32", "shape": [samples, width],
               "data_offsets": [0, size]},
    "targets": {"dtype": "I32", "shape": [samples, width],
                "data_offsets": [size, 2 * size]},
}).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header)
    for values in (tokens, targets):
        file.write(struct.pack(f"<{len(values)}i", *values))
