"""Prints a task of 200 element ops, one after the other: of an input (rows), or of its sum over rows (columns)."""

import sys

OPS = 200

shape = "8x4" if sys.argv[1] == "rows" else "4"
lines = ["pp.task forward stage 0 @chain(%0: tensor<8x4xf32> {pp.role = #pp.role<input, \"x\">})",
         f"    -> tensor<{shape}xf32> {{"]
last = 0
if sys.argv[1] == "columns":
    lines.append("  %1 = pp.reduce sum %0 [0] : tensor<8x4xf32>")
    last = 1
for last in range(last + 1, last + 1 + OPS):
    lines.append(f"  %{last} = pp.neg %{last - 1} : tensor<{shape}xf32>")
lines += [f"  pp.return %{last} : tensor<{shape}xf32>", "}"]
print("\n".join(lines))
