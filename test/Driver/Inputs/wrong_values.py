"""Plants a wrong value into a model and prints what ppopt plan says of it, one line each.

usage: wrong_values.py PPOPT MODEL
"""

import re
import subprocess
import sys

Q = "tensor<2x2x4x8xf32>"
CASES = {
    "pp.reduce average": "%0 = pp.reduce average %x [0, 1] : tensor<4x8xf32>",
    "pp.compare less": "%0 = pp.compare less %x, %x : tensor<4x8xf32>, tensor<4x8xf32>",
    'eps = "x"': '%0 = pp.normalize %x {eps = "x"} : tensor<4x8xf32>',
    "eps = 1.0e-6 : f32": "%0 = pp.normalize %x {eps = 1.0e-6 : f32} : tensor<4x8xf32>",
    "eps = true": "%0 = pp.normalize %x {center, eps = true} : tensor<4x8xf32>",
    "eps = 1e-6": "%0 = pp.normalize %x {eps = 1e-6, center} : tensor<4x8xf32>",
    "p = 1": "%0 = pp.dropout %x {p = 1} : tensor<4x8xf32>",
    "causal = true": f"%0, %1 = pp.attention %q, %q, %q {{causal = true}} : {Q}, {Q}, {Q}",
    "keep_dims = 1": "%0 = pp.reduce sum %x [0] {keep_dims = 1} : tensor<4x8xf32>",
    "init = 5 : i64": '%0 = pp.param "w" {init = 5 : i64} : tensor<4x8xf32>',
    "init = zeros": '%0 = pp.param "w" {init = zeros} : tensor<4x8xf32>',
    "init = #pp.init<gaussian>": '%0 = pp.param "w" {init = #pp.init<gaussian>} : tensor<4x8xf32>',
    "call @layer(%x)": "%0 = call @layer(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>",
    "call @layer()": "%0 = call @layer() : (tensor<4x8xf32>) -> tensor<4x8xf32>",
}


def main(ppopt, path):
    with open(path) as file:
        model = file.read()
    for name, line in CASES.items():
        with open(path, "w") as file:
            file.write(model.replace("PLANTED", line + "\n  %l = pp.reduce sum %x [0, 1] : tensor<4x8xf32>\n  return %l : tensor<f32>"))
        done = subprocess.run([ppopt, "plan", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        errors = re.findall(r"error: (.*)", done.stderr)
        assert done.returncode == 1 and errors, f"{name}: status {done.returncode}: {done.stderr}"
        # MLIR's parser names the op up to twice.
        print(f"{name}: " + " | ".join(re.sub(r"^custom op '[\w.]+' ('[\w.]+' op (?=attribute))?", "", error) for error in errors))


if __name__ == "__main__":
    main(*sys.argv[1:])
