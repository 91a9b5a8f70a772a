"""The models of check_predictions: their texts, parameters and rows, and what numpy gives for their outputs.

`model(...)` is a text, `parameters()` and `rows(count)` are drawn, and `outputs(values, data)` is {name: array of all rows}.
"""
import re
import zlib

import numpy as np

FLOATS = {"f64": np.float64, "f32": np.float32}


def draw(shapes, dtype=np.float64, scale=1.0):
    """Each tensor by its name alone, so that their order does not matter."""
    return {name: (scale * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)).astype(dtype) for name, shape in shapes.items()}


def as_bf16(values):
    """Rounded to the nearest, and of two to the even one; in f32."""
    bits = np.ascontiguousarray(values, "<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype("<u4").view("<f4").reshape(np.shape(values))


def tensors(text):
    """The text with T(8x3xf64) for tensor<8x3xf64>."""
    return re.sub(r"\bT\(([^()]*)\)", r"tensor<\1>", text)


class Classifier:
    """Two layers with dropout after the first, on two places if they are marked. Outputs of every type come from both, and metrics stand between them."""

    FEATURES, WIDTH, CLASSES = 8, 6, 6
    SHAPES = {"u": (FEATURES, WIDTH), "v": (WIDTH, CLASSES)}
    TYPES = {"hidden": "F64", "scores": "F64", "class": "I64", "sure": "BOOL", "half": "BF16", "other": "F32", "tenths": "I32", "accuracy": "F64"}

    def parameters(self, dtype="f64"):
        return draw(self.SHAPES, FLOATS[dtype], scale=0.5)

    def rows(self, count, dtype="f64"):
        """Ties are in the data: the scores of a row of zeros are equal, and the first class is taken."""
        random = np.random.default_rng(4)
        x = random.normal(size=(1003, self.FEATURES))
        x[[2, 5]] = 0
        return {"x": x[:count].astype(FLOATS[dtype]), "y": random.integers(0, self.CLASSES, size=1003).astype(np.int32)[:count]}

    def outputs(self, values, data):
        hidden = np.tanh(data["x"] @ values["u"])
        scores = hidden @ values["v"]
        other = np.float32 if hidden.dtype == np.float64 else np.float64
        return {"hidden": hidden, "scores": scores, "class": scores.argmax(-1), "sure": scores.max(-1) > 0.5, "half": as_bf16(hidden),
                "other": hidden.astype(other), "tenths": np.trunc(scores * 10).astype(np.int32), "accuracy": scores.max(-1)}

    def accuracy(self, values, data):
        return np.mean(self.outputs(values, data)["class"] == data["y"])

    def model(self, batch=8, dtype="f64", marked=True, outputs=tuple(TYPES)):
        """With these outputs; one has the name of a metric."""
        f, w, c, t, other = self.FEATURES, self.WIDTH, self.CLASSES, dtype, {"f64": "f32", "f32": "f64"}[dtype]
        results = [("%hidden", f"T(Bx{w}x{t})", "output", "hidden"), ("%accuracy", f"T({t})", "metric", "accuracy"),
                   ("%scores", f"T(Bx{c}x{t})", "output", "scores"), ("%class", "T(Bxi64)", "output", "class"), ("%sure", "T(Bxi1)", "output", "sure"),
                   ("%norm", f"T({t})", "metric", "norm"), ("%half", f"T(Bx{w}xbf16)", "output", "half"),
                   ("%other", f"T(Bx{w}x{other})", "output", "other"), ("%tenths", f"T(Bx{c}xi32)", "output", "tenths"),
                   ("%most", f"T(Bx{t})", "output", "accuracy")]
        results = [each for each in results if each[2] == "metric" or each[3] in outputs]
        text = f"""func.func @classifier(%x: T(Bx{f}x{t}) {{pp.input = "x"}}, %y: T(Bxi32) {{pp.input = "y"}})
    -> (T({t}), {", ".join(f'{type} {{pp.{kind} = "{name}"}}' for _, type, kind, name in results)}) {{
  %u = pp.param "u" {{init = #pp.init<normal, 0.0, 1.0>}} : T({f}x{w}x{t})
  %v = pp.param "v" {{init = #pp.init<normal, 0.0, 1.0>}} : T({w}x{c}x{t})
  %hidden = pp.on 0 -> T(Bx{w}x{t}) {{
    %a = pp.matmul %x, %u : T(Bx{f}x{t}), T({f}x{w}x{t})
    %tanh = pp.tanh %a : T(Bx{w}x{t})
    %d = pp.dropout %tanh {{p = 0.5 : f64}} : T(Bx{w}x{t})
    pp.yield %d : T(Bx{w}x{t})
  }}
  %scores, %loss = pp.on 1 -> T(Bx{c}x{t}), T({t}) {{
    %z = pp.matmul %hidden, %v : T(Bx{w}x{t}), T({w}x{c}x{t})
    %l = pp.cross_entropy %z, %y : T(Bx{c}x{t}), T(Bxi32)
    pp.yield %z, %l : T(Bx{c}x{t}), T({t})
  }}
  %class = pp.argmax %scores {{dim = 1 : i64}} : T(Bx{c}x{t})
  %y64 = pp.cast %y : T(Bxi32) to T(Bxi64)
  %same = pp.compare eq %class, %y64 : T(Bxi64), T(Bxi64)
  %hits = pp.cast %same : T(Bxi1) to T(Bx{t})
  %accuracy = pp.reduce mean %hits [0] : T(Bx{t})
  %squares = pp.mul %u, %u : T({f}x{w}x{t}), T({f}x{w}x{t})
  %norm = pp.reduce sum %squares [0, 1] : T({f}x{w}x{t})
  %bound = pp.constant dense<0.5> : T({t})
  %most = pp.reduce max %scores [1] : T(Bx{c}x{t})
  %sure = pp.compare gt %most, %bound : T(Bx{t}), T({t})
  %half = pp.cast %hidden : T(Bx{w}x{t}) to T(Bx{w}xbf16)
  %other = pp.cast %hidden : T(Bx{w}x{t}) to T(Bx{w}x{other})
  %ten = pp.constant dense<10.0> : T({t})
  %scaled = pp.mul %scores, %ten : T(Bx{c}x{t}), T({t})
  %tenths = pp.cast %scaled : T(Bx{c}x{t}) to T(Bx{c}xi32)
  return %loss, {", ".join(each[0] for each in results)} : T({t}), {", ".join(each[1] for each in results)}
}}
"""
        if not marked:
            text = re.sub(r"  %hidden = pp.on .*\n", "", text).replace("%d = ", "%hidden = ")
            text = re.sub(r"  %scores, %loss = pp.on .*\n", "", text).replace("%z", "%scores").replace("%l = ", "%loss = ")
            text = re.sub(r"    pp.yield .*\n  }\n", "", text)
        return tensors(re.sub(r"\bT\(Bx", f"T({batch}x", text))


class LookUp:
    """Rows of a table by ids that are computed of the input; outputs that need no parameter, and one that is the input."""

    TABLE, WIDTH, IDS = 12, 4, 3
    SHAPES = {"table": (TABLE, WIDTH)}
    TYPES = {"next": "I32", "given": "I32", "vectors": "F64", "sum": "F64"}

    def parameters(self):
        return draw(self.SHAPES)

    def rows(self, count):
        random = np.random.default_rng(6)
        return {"ids": random.integers(0, self.TABLE - 1, size=(1003, self.IDS)).astype(np.int32)[:count],
                "t": random.normal(size=(1003, self.WIDTH))[:count]}

    def outputs(self, values, data):
        vectors = values["table"][data["ids"] + 1]
        return {"next": data["ids"] + np.int32(1), "given": data["ids"], "vectors": vectors, "sum": vectors.sum(1)}

    def model(self, batch=8):
        ids, e, s = f"{batch}x{self.IDS}xi32", f"{batch}x{self.IDS}x{self.WIDTH}xf64", f"{batch}x{self.WIDTH}xf64"
        return tensors(f"""func.func @lookup(%ids: T({ids}) {{pp.input = "ids"}}, %t: T({s}) {{pp.input = "t"}})
    -> (T(f64), T({ids}) {{pp.output = "next"}}, T({ids}) {{pp.output = "given"}}, T({e}) {{pp.output = "vectors"}}, T({s}) {{pp.output = "sum"}}) {{
  %table = pp.param "table" {{init = #pp.init<normal, 0.0, 1.0>}} : T({self.TABLE}x{self.WIDTH}xf64)
  %one = pp.constant dense<1> : T(i32)
  %next = pp.add %ids, %one : T({ids}), T(i32)
  %e = pp.embedding %table, %next : T({self.TABLE}x{self.WIDTH}xf64), T({ids})
  %s = pp.reduce sum %e [1] : T({e})
  %loss = pp.mse %s, %t : T({s}), T({s})
  return %loss, %next, %ids, %e, %s : T(f64), T({ids}), T({ids}), T({e}), T({s})
}}
""")


class GPT:
    """`ppopt model gpt`, edited so that it returns its logits, which are PyTorch's."""

    LAYERS, WIDTH, HEADS, VOCABULARY, LENGTH, ROWS = 2, 8, 2, 10, 4, 11
    FLAGS = ["--layers", str(LAYERS), "--width", str(WIDTH), "--heads", str(HEADS), "--vocab", str(VOCABULARY), "--seq", str(LENGTH), "--batch", "4",
             "--dtype", "f64", "--dropout", "0.3"]
    SCALE = 0.4  # of parameters: no logit is far from the others
    TYPES = {"logits": "F64"}

    def edited(self, text):
        for before, after in ((" -> !scalar {", ' -> (!scalar, !logits {pp.output = "logits"}) {'),
                              ("return %loss : !scalar", "return %loss, %logits : !scalar, !logits")):
            assert text.count(before) == 1, f"{before} is {text.count(before)} times in the model"
            text = text.replace(before, after)
        return text

    def rows(self):
        return {"tokens": np.random.default_rng(8).integers(0, self.VOCABULARY, size=(self.ROWS, self.LENGTH)).astype(np.int32)}
