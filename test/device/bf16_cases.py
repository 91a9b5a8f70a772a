"""Ops in bf16 whose errors are compared with PyTorch's: models, inputs, and what they compute in f64.

make_bf16_errors.py computes PyTorch's errors on the inputs, check_bf16.py those of the emulated device. The inputs are drawn from the raw
numbers of a PCG64, which NumPy keeps the same in all versions: the sum of the four 16-bit parts of a number is nearly normal.
"""
import dataclasses
import math
import zlib

import numpy as np

EPS = 1e-5


def round_bf16(x):
    """The nearest bf16, ties to even, as f32."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7fff) + (bits >> 16 & 1)) & np.uint32(0xffff0000)).view(np.float32)


def draw_raw(name, shape):
    return np.random.PCG64(zlib.crc32(name.encode())).random_raw(math.prod(shape)).reshape(shape)


def draw_normal(name, shape):
    raw = draw_raw(name, shape)
    total = sum((raw >> np.uint64(16 * part) & np.uint64(0xffff)).astype(np.float64) for part in range(4))
    return round_bf16((total / 65536 - 2) * math.sqrt(3))


def errors_of(value, truth):
    """The largest error relative to the largest element, and that of the root of the mean square."""
    off = np.asarray(value, np.float64) - truth
    return {"max": np.abs(off).max() / np.abs(truth).max(), "rms": math.sqrt((off ** 2).mean() / (truth ** 2).mean())}


@dataclasses.dataclass
class Case:
    """`body`: ops that compute %out from the parameters, which are named for their keys in `shapes`. `reference` takes the inputs and the gradient of
    the output, and returns the output and the gradients of the parameters, in f64. `torch`: the same forward, of torch and the inputs."""
    name: str
    shapes: dict
    out: tuple
    body: str
    reference: object
    torch: object
    ids: dict = dataclasses.field(default_factory=dict)  # name: (shape, how many)
    is_loss: bool = False  # the output is the loss, in f32

    def inputs(self):
        """In f32 (integers in i32); `dout` is the gradient of the output."""
        drawn = {name: draw_normal(f"{self.name} {name}", shape) for name, shape in self.shapes.items()}
        drawn["dout"] = np.ones(()) if self.is_loss else draw_normal(f"{self.name} dout", self.out)
        for name, (shape, count) in self.ids.items():
            drawn[name] = (draw_raw(f"{self.name} {name}", shape) % np.uint64(count)).astype(np.int32)
        return drawn

    def truth(self):
        inputs = self.inputs()
        return self.reference({name: x if x.dtype == np.int32 else x.astype(np.float64) for name, x in inputs.items()})

    def model(self):
        """The loss is the sum of the output times the parameter `dout`, so that the gradient of `dout` is the output."""
        inputs = [f'%{name}: {tensor(shape, "i32")} {{pp.input = "{name}"}}' for name, (shape, _) in self.ids.items()]
        inputs = inputs or ['%unused: tensor<1xf32> {pp.input = "unused"}']
        lines = [parameter(name, shape, "bf16") for name, shape in self.shapes.items()] + [self.body]
        if not self.is_loss:
            narrow, wide = tensor(self.out, "bf16"), tensor(self.out, "f32")
            lines += [parameter("dout", self.out, "f32"), f"%wide = pp.cast %out : {narrow} to {wide}", f"%product = pp.mul %wide, %dout : {wide}, {wide}",
                      f"%loss = pp.reduce sum %product {list(range(len(self.out)))} : {wide}"]
        body = "\n".join("  " + line for line in "\n".join(lines).splitlines())
        return f"func.func @case({', '.join(inputs)}) -> tensor<f32> {{\n{body}\n  return %{'out' if self.is_loss else 'loss'} : tensor<f32>\n}}\n"


def tensor(shape, element="bf16"):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def parameter(name, shape, element):
    return f'%{name} = pp.param "{name}" {{init = #pp.init<ones>}} : {tensor(shape, element)}'


# Attention

def attention_reference(x, causal, each):
    k, v = (np.repeat(x[name], each, axis=1) for name in ("k", "v"))
    scale = 1 / math.sqrt(k.shape[-1])
    scores = x["q"] @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    p = softmax(scores)
    dp = x["dout"] @ v.swapaxes(-1, -2)
    ds = softmax_gradient(p, dp) * scale
    gradients = {"q": ds @ k, "k": ds.swapaxes(-1, -2) @ x["q"], "v": p.swapaxes(-1, -2) @ x["dout"]}
    for name in ("k", "v"):
        batch, heads, *row = gradients[name].shape
        gradients[name] = gradients[name].reshape(batch, heads // each, each, *row).sum(2)
    return {"out": p @ v, **gradients}


def attention_torch(torch, x, causal, each):
    k, v = (x[name].repeat_interleave(each, dim=1) for name in ("k", "v"))
    if x["q"].dtype != torch.bfloat16:
        return torch.nn.functional.scaled_dot_product_attention(x["q"], k, v, is_causal=causal)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(x["q"], k, v, is_causal=causal)


def attention(heads, groups, tokens, width, causal):
    each = heads // groups
    full, part = (1, heads, tokens, width), (1, groups, tokens, width)
    lines = []
    for name in ("k", "v"):
        many = tensor((1, groups, each, tokens, width))
        lines += [f"%{name}_many = pp.broadcast %{name} [0, 1, 3, 4] : {tensor(part)} to {many}",
                  f"%{name}_full = pp.reshape %{name}_many : {many} to {tensor(full)}"] if each > 1 else []
    k, v = ("%k_full", "%v_full") if each > 1 else ("%k", "%v")
    lines.append(f"%out, %lse = pp.attention %q, {k}, {v}{' {causal}' if causal else ''} : {tensor(full)}, {tensor(full)}, {tensor(full)}")
    name = f"attention of {heads} heads{f' in {groups} groups' if each > 1 else ''}, {tokens} tokens, width {width}{', causal' if causal else ''}"
    return Case(name, {"q": full, "k": part, "v": part}, full, "\n".join(lines), lambda x: attention_reference(x, causal, each),
                lambda torch, x: attention_torch(torch, x, causal, each))


# Rows

def softmax(x):
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def softmax_gradient(y, dy):
    return y * (dy - (dy * y).sum(-1, keepdims=True))


def norm_reference(x, center):
    rows, dout = x["x"], x["dout"]
    mean = rows.mean(-1, keepdims=True) if center else 0
    inverse = 1 / np.sqrt(((rows - mean) ** 2).mean(-1, keepdims=True) + EPS)
    y = (rows - mean) * inverse
    dy = dout * x["scale"]
    dx = inverse * (dy - (dy.mean(-1, keepdims=True) if center else 0) - y * (dy * y).mean(-1, keepdims=True))
    results = {"out": y * x["scale"] + (x["bias"] if center else 0), "x": dx, "scale": (dout * y).sum(0)}
    return {**results, "bias": dout.sum(0)} if center else results


def layer_norm(rows, columns):
    shape, vector = (rows, columns), (columns,)
    return Case(f"layer_norm {rows}x{columns}", {"x": shape, "scale": vector, "bias": vector}, shape,
                f"%out = pp.layer_norm %x, %scale, %bias : {tensor(shape)}, {tensor(vector)}, {tensor(vector)}",
                lambda x: norm_reference(x, center=True),
                lambda torch, x: torch.nn.functional.layer_norm(x["x"], vector, x["scale"], x["bias"], EPS))


def rms_norm(rows, columns):
    shape, vector = (rows, columns), (columns,)
    return Case(f"rms_norm {rows}x{columns}", {"x": shape, "scale": vector}, shape,
                f"%out = pp.rms_norm %x, %scale : {tensor(shape)}, {tensor(vector)}", lambda x: norm_reference(x, center=False),
                lambda torch, x: torch.nn.functional.rms_norm(x["x"], vector, x["scale"], EPS))


def softmax_reference(x):
    y = softmax(x["x"])
    return {"out": y, "x": softmax_gradient(y, x["dout"])}


def softmax_case(rows, columns):
    shape = (rows, columns)
    return Case(f"softmax {rows}x{columns}", {"x": shape}, shape, f"%out = pp.softmax %x : {tensor(shape)}", softmax_reference,
                lambda torch, x: torch.softmax(x["x"], -1))


def cross_entropy_reference(x):
    p, targets = softmax(x["x"]), x["targets"]
    rows = np.arange(len(targets))
    dx = p.copy()
    dx[rows, targets] -= 1
    return {"out": -np.log(p[rows, targets]).mean(), "x": dx / len(targets)}


def cross_entropy(rows, classes):
    shape = (rows, classes)
    return Case(f"cross_entropy {rows}x{classes}", {"x": shape}, (),
                f"%out = pp.cross_entropy %x, %targets : {tensor(shape)}, {tensor((rows,), 'i32')}", cross_entropy_reference,
                lambda torch, x: torch.nn.functional.cross_entropy(x["x"], x["targets"].long()), {"targets": ((rows,), classes)}, is_loss=True)


def embedding_reference(x):
    table = np.zeros_like(x["table"])
    np.add.at(table, x["ids"], x["dout"])
    return {"out": x["table"][x["ids"]], "table": table}


def embedding(rows, table, columns):
    shape = (table, columns)
    return Case(f"embedding of {rows} rows, table {table}x{columns}", {"table": shape}, (rows, columns),
                f"%out = pp.embedding %table, %ids : {tensor(shape)}, {tensor((rows,), 'i32')}", embedding_reference,
                lambda torch, x: torch.nn.functional.embedding(x["ids"], x["table"]), {"ids": ((rows,), table)})


# Elements: value and derivative

def gelu(x):
    phi = (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2
    return x * phi, phi + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def gelu_tanh(x):
    factor = math.sqrt(2 / math.pi)
    t = np.tanh(factor * (x + 0.044715 * x ** 3))
    return x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) / 2 * factor * (1 + 3 * 0.044715 * x * x)


def silu(x):
    s = 1 / (1 + np.exp(-x))
    return x * s, s * (1 + x * (1 - s))


def element_reference(x, function):
    y, derivative = function(x["x"])
    return {"out": y, "x": x["dout"] * derivative}


def element(name, op, rows, columns, function, torch_function):
    shape = (rows, columns)
    return Case(f"{name} {rows}x{columns}", {"x": shape}, shape, f"%out = pp.{op} : {tensor(shape)}", lambda x: element_reference(x, function),
                lambda torch, x: torch_function(torch.nn.functional, x["x"]))


def chain_reference(x):
    """What a gated MLP does between its matmuls, with biases and a residual sum."""
    a, b = x["x"] + x["b"], x["y"] + x["c"]
    value, derivative = silu(a)
    da, db = x["dout"] * b * derivative, x["dout"] * value
    return {"out": value * b + x["x"], "x": da + x["dout"], "y": db, "b": da.sum(0), "c": db.sum(0)}


def chain(rows, columns):
    shape, vector = (rows, columns), (columns,)
    m, v = tensor(shape), tensor(vector)
    body = f"""%p = pp.add %x, %b : {m}, {v}
%q = pp.add %y, %c : {m}, {v}
%s = pp.silu %p : {m}
%g = pp.mul %s, %q : {m}, {m}
%out = pp.add %g, %x : {m}, {m}"""
    return Case(f"gated chain {rows}x{columns}", {"x": shape, "y": shape, "b": vector, "c": vector}, shape, body, chain_reference,
                lambda torch, x: torch.nn.functional.silu(x["x"] + x["b"]) * (x["y"] + x["c"]) + x["x"])


def cases():
    return [
        attention(2, 2, 257, 32, causal=True), attention(2, 2, 300, 64, causal=True), attention(1, 1, 300, 64, causal=False),
        attention(4, 2, 129, 64, causal=True), attention(1, 1, 257, 80, causal=True), attention(1, 1, 200, 80, causal=False),
        attention(1, 1, 257, 128, causal=False), attention(2, 1, 300, 128, causal=True),
        layer_norm(300, 768), layer_norm(33, 2500), rms_norm(300, 768), rms_norm(33, 2500), softmax_case(64, 1000), softmax_case(33, 80),
        cross_entropy(64, 1000), embedding(500, 40, 96),
        element("gelu", "gelu %x", 200, 300, gelu, lambda f, x: f.gelu(x)),
        element("gelu by tanh", "gelu %x {tanh}", 200, 300, gelu_tanh, lambda f, x: f.gelu(x, approximate="tanh")),
        element("silu", "silu %x", 200, 300, silu, lambda f, x: f.silu(x)), chain(300, 257),
    ]
