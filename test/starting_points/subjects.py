"""The models of check_starting_points, and files of other programs as the files' own authors would write them."""
import json
import os
import struct

import numpy as np

from predictions.subjects import FLOATS, tensors  # noqa: F401
from support import safetensors_io

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8}


class Raw:
    """A tensor of any type by its bits."""

    def __init__(self, dtype, shape, bits):
        self.dtype, self.shape = dtype, list(shape)
        self.data = b"".join(int(each).to_bytes(SIZES[dtype], "little") for each in np.ravel(bits))


def write_raw(path, values):
    header, offset = {}, 0
    for name, each in values.items():
        header[name] = {"dtype": each.dtype, "shape": each.shape, "data_offsets": [offset, offset + len(each.data)]}
        offset += len(each.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(each.data for each in values.values()))


def nearest_bf16(value):
    """The bits of the nearest bf16 of a number that is normal there, found among its neighbours; a numpy float loses none of the differences."""
    value = float(value)
    if value == 0:
        return 0
    sign, value = (1 << 15, -value) if value < 0 else (0, value)

    def number(bits):
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    low = struct.unpack("<I", struct.pack("<f", np.float32(value)))[0] >> 16
    while number(low) > value:
        low -= 1
    while number(low + 1) <= value:
        low += 1
    below, above = value - number(low), number(low + 1) - value
    return sign | (low + 1 if above < below or above == below and low % 2 else low)


def bf16_values(values):
    """Numbers that bf16 has, as f32."""
    return (np.ascontiguousarray(values, "<f4").view("<u4") >> 16 << 16).view("<f4").reshape(np.shape(values))


def sharded_folder(folder, shards):
    """A folder as Hugging Face's transformers writes it: files of tensors and their index."""
    os.makedirs(folder, exist_ok=True)
    weights = {}
    for i, shard in enumerate(shards):
        name = f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        safetensors_io.write(os.path.join(folder, name), shard)
        weights.update({tensor: name for tensor in shard})
    with open(os.path.join(folder, "config.json"), "w", encoding="utf8") as file:
        file.write("{}")
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf8") as file:
        json.dump({"metadata": {"total_size": 1}, "weight_map": weights}, file)
    return folder


class Look:
    """A table, a matrix and a matrix with more names, on two places if they are marked; scores of each row."""

    ROWS, WIDTH, CLASSES = 12, 4, 6
    SHAPES = {"table": (ROWS, WIDTH), "u": (WIDTH, CLASSES), "v": (CLASSES, CLASSES), "b": (CLASSES,)}

    def rows(self, count):
        random = np.random.default_rng(4)
        return {"ids": random.integers(0, self.ROWS, size=count).astype(np.int32)}

    def scores(self, values, data):
        return np.tanh(values["table"][data["ids"]] @ values["u"]) @ values["v"] + values["b"]

    def model(self, dtype="f32", marked=True):
        t, n, w, c = dtype, self.ROWS, self.WIDTH, self.CLASSES
        first = f"""    %e = pp.embedding %table, %ids : T({n}x{w}x{t}), T(8xi32)
    %a = pp.matmul %e, %u : T(8x{w}x{t}), T({w}x{c}x{t})
    %h = pp.tanh %a : T(8x{c}x{t})
"""
        second = f"""    %m = pp.matmul %h, %v : T(8x{c}x{t}), T({c}x{c}x{t})
    %s = pp.add %m, %b : T(8x{c}x{t}), T({c}x{t})
    %l = pp.cross_entropy %s, %y : T(8x{c}x{t}), T(8xi32)
"""
        if marked:
            first = f"  %h = pp.on 0 -> T(8x{c}x{t}) {{\n{first}    pp.yield %h : T(8x{c}x{t})\n  }}\n".replace("%h = pp.tanh", "%g = pp.tanh") \
                .replace("pp.yield %h", "pp.yield %g")
            second = f"  %scores, %loss = pp.on 1 -> T(8x{c}x{t}), T({t}) {{\n{second}    pp.yield %s, %l : T(8x{c}x{t}), T({t})\n  }}\n"
        else:
            second = second.replace("%s", "%scores").replace("%l ", "%loss ")
        return tensors(f"""func.func @look(%ids: T(8xi32) {{pp.input = "ids"}}, %y: T(8xi32) {{pp.input = "y"}}) -> (T({t}), T(8x{c}x{t}) {{pp.output = "scores"}}) {{
  %table = pp.param "table" {{init = #pp.init<normal, 0.0, 0.5>}} : T({n}x{w}x{t})
  %u = pp.param "u" {{init = #pp.init<uniform, -1.0, 1.0>}} : T({w}x{c}x{t})
  %v = pp.param "v" {{init = #pp.init<normal, 0.0, 0.3>, pp.aliases = ["v.tied", "v.other"]}} : T({c}x{c}x{t})
  %b = pp.param "b" {{init = #pp.init<normal, 0.0, 1.0>}} : T({c}x{t})
{first}{second}  return %loss, %scores : T({t}), T(8x{c}x{t})
}}
""")


def numbers_model(count, dtype):
    """A parameter that is a list of numbers."""
    return tensors(f"""func.func @numbers(%x: T(4x{count}x{dtype}) {{pp.input = "x"}}) -> T({dtype}) {{
  %n = pp.param "n" {{init = #pp.init<normal, 0.0, 1.0>}} : T({count}x{dtype})
  %y = pp.mul %x, %n : T(4x{count}x{dtype}), T({count}x{dtype})
  %loss = pp.reduce mean %y [0, 1] : T(4x{count}x{dtype})
  return %loss : T({dtype})
}}
""")
