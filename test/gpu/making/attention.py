"""Models of one attention whose scores are changed or hidden, in each type, and what they compute on a CPU."""
import os

import numpy as np

from making.compiler import compile_cuda, write
from support import safetensors_io
from support.executable import compile_model, run

BATCH, TOKENS, HEADS, WIDTH = 3, 150, 4, 16
FLAGS = ["--optimizer", "sgd"]
TRAINING = ["--lr", "0.1", "--momentum", "0", "--seed", "5"]
# Of losses and gradients, relative to the largest element of each: those of f64 as elsewhere, of bf16 some roundings.
TYPES = {"f64": ("f64", [], 1e-12), "bf16": ("f32", ["--precision", "bf16"], 4e-2)}
#          heads of keys, operands, attributes
MODELS = {"grouped": (2, [], "causal, window = 40 : i64, soft_cap = 3.0 : f64"),
          "packed": (4, ["bias", "slopes", "segments"], "causal"),
          "masked": (1, ["bias", "mask"], "window = 70 : i64")}
CASES = [("grouped", "bf16"), ("packed", "f64"), ("packed", "bf16"), ("masked", "f64")]
NUMBERS = {"f64": np.float64, "f32": np.float32}


def model_text(key_heads, changes, attributes, element):
    def tensor(*shape, of=element):
        return f"tensor<{'x'.join(map(str, shape))}x{of}>"
    scores = {"bias": tensor(1, HEADS, TOKENS, TOKENS), "slopes": tensor(HEADS), "segments": tensor(BATCH, TOKENS, of="i32"),
              "mask": tensor(BATCH, 1, 1, TOKENS, of="i1")}
    width, x = HEADS * WIDTH, tensor(BATCH, TOKENS, HEADS * WIDTH)
    inputs, lines = {"x": x, "y": x}, []
    for name in changes:
        if name in ("segments", "mask"):
            inputs[name] = scores[name]
        else:
            lines.append(f'%{name} = pp.param "{name}" {{init = #pp.init<normal, 0.0, 0.4>}} : {scores[name]}')
    for name, heads in (("q", HEADS), ("k", key_heads), ("v", key_heads)):
        w, flat, split = tensor(width, heads * WIDTH), tensor(BATCH, TOKENS, heads * WIDTH), tensor(BATCH, TOKENS, heads, WIDTH)
        lines += [f'%w{name} = pp.param "w{name}" {{init = #pp.init<normal, 0.0, 0.4>}} : {w}', f"%{name}0 = pp.matmul %x, %w{name} : {x}, {w}",
                  f"%{name}1 = pp.reshape %{name}0 : {flat} to {split}", f"%{name} = pp.transpose %{name}1 [0, 2, 1, 3] : {split}"]
    q, k = tensor(BATCH, HEADS, TOKENS, WIDTH), tensor(BATCH, key_heads, TOKENS, WIDTH)
    operands = "".join(f" {name} %{name}" for name in changes)
    types = ", ".join([q, k, k, *(scores[name] for name in changes)])
    lines += [f"%o, %lse = pp.attention %q, %k, %v{operands} {{{attributes}}} : {types}", f"%o1 = pp.transpose %o [0, 2, 1, 3] : {q}",
              f"%o2 = pp.reshape %o1 : {tensor(BATCH, TOKENS, HEADS, WIDTH)} to {x}", f"%loss = pp.mse %o2, %y : {x}, {x}"]
    arguments = ", ".join(f'%{name}: {kind} {{pp.input = "{name}"}}' for name, kind in inputs.items())
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func @attention({arguments}) -> tensor<{element}> {{\n{body}  return %loss : tensor<{element}>\n}}\n"


def draw_inputs(changes, element):
    """Documents of about 20 tokens; of the rows of the batch one sees no key, one some, one all."""
    random = np.random.default_rng(3)
    drawn = {name: random.standard_normal((BATCH, TOKENS, HEADS * WIDTH)).astype(NUMBERS[element]) for name in "xy"}
    if "segments" in changes:
        drawn["segments"] = np.cumsum(random.random((BATCH, TOKENS)) < 0.05, axis=1, dtype=np.int32)
    if "mask" in changes:
        drawn["mask"] = (np.arange(TOKENS) < np.array([0, 55, TOKENS])[:, None]).reshape(BATCH, 1, 1, TOKENS)
    return drawn


def add_attention(folder, ppopt, directory, name, type_name):
    key_heads, changes, attributes = MODELS[name]
    element, precision, tolerance = TYPES[type_name]
    key = f"attention_{name}_{type_name}"
    stem = os.path.join(directory, key)
    model = write(stem + ".mlir", model_text(key_heads, changes, attributes, element))
    cpu = compile_model(ppopt, model, stem + "_cpu", [*FLAGS, *precision, "--threads", "1"])
    random = np.random.default_rng(4)
    parameters = {p["name"]: (0.3 * random.standard_normal(p["shape"])).astype(NUMBERS[element]) for p in cpu.program["parameters"]}
    inputs = draw_inputs(changes, element)
    reference = run(cpu, TRAINING, "threads", dump_gradients=True, init=parameters, inputs=inputs, steps=1, name="expected")
    folder.add_executable(key, compile_cuda(ppopt, model, stem + "_cuda", [*FLAGS, *precision]).path)
    entry = {"name": key, "executable": key, "ranks": 1, "flags": [*TRAINING, "--steps", "1"], "tolerance": tolerance,
             "losses": reference.hexadecimal, "files": {}}
    for what, tensors in {"inputs": inputs, "init": parameters, "gradients": reference.gradients}.items():
        path = f"{stem}.{what}.expected"
        safetensors_io.write(path, {each: np.asarray(values) for each, values in tensors.items()})
        entry["files"][what] = folder.add(path, f"equivalence/{key}.{what}.safetensors")
    return entry

