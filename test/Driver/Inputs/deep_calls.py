"""Prints a model whose functions call each other in a chain.

usage: deep_calls.py DEPTH first|last    where callees stand before or after their callers
"""

import sys


def main(depth, callees):
    functions = ["func.func private @f0(%x: !x) -> !x {\n  return %x : !x\n}\n"]
    for i in range(1, depth):
        functions.append(f"func.func private @f{i}(%x: !x) -> !x {{\n  %y = call @f{i - 1}(%x) : (!x) -> !x\n  return %y : !x\n}}\n")
    functions.append(f"""func.func @main(%x: !x {{pp.input = "x"}}) -> tensor<f32> {{
  %w = pp.param "w" {{init = #pp.init<ones>}} : tensor<8xf32>
  %y = pp.mul %x, %w : !x, tensor<8xf32>
  %z = call @f{depth - 1}(%y) : (!x) -> !x
  %loss = pp.reduce mean %z [0, 1] : !x
  return %loss : tensor<f32>
}}
""")
    print("!x = tensor<4x8xf32>\n" + "".join(functions if callees == "first" else functions[::-1]))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
