"""Models for the search of plans, of six kinds: small ones, and of any size."""
from support.executable import checked


def gpt(ppopt, batch, layers=4, width=64, heads=4, vocab=257, seq=32):
    return checked([ppopt, "model", "gpt", "--layers", str(layers), "--width", str(width), "--heads", str(heads), "--vocab", str(vocab),
                    "--seq", str(seq), "--batch", str(batch)]).stdout


def llama(ppopt, batch, layers=3, width=48, heads=6, kv_heads=2, mlp_width=96, vocab=100, seq=24):
    return checked([ppopt, "model", "llama", "--layers", str(layers), "--width", str(width), "--heads", str(heads), "--kv-heads", str(kv_heads),
                    "--mlp-width", str(mlp_width), "--vocab", str(vocab), "--seq", str(seq), "--batch", str(batch)]).stdout


def chain(lines, batch, inputs, targets):
    """A model whose lines make %out, [batch, targets], of %x, [batch, inputs]."""
    return (f'func.func @model(%x: tensor<{batch}x{inputs}xf32> {{pp.input = "x"}}, %t: tensor<{batch}x{targets}xf32> {{pp.input = "t"}}) -> tensor<f32> {{\n'
            + "".join(f"  {line}\n" for line in lines) +
            f"  %d = pp.sub %out, %t : tensor<{batch}x{targets}xf32>, tensor<{batch}x{targets}xf32>\n"
            f"  %s = pp.mul %d, %d : tensor<{batch}x{targets}xf32>, tensor<{batch}x{targets}xf32>\n"
            f"  %loss = pp.reduce mean %s [0, 1] : tensor<{batch}x{targets}xf32>\n  return %loss : tensor<f32>\n}}\n")


def linear(batch, read, name, rows, columns, made):
    return [f'%w_{name} = pp.param "{name}" {{init = #pp.init<normal, 0.0, 0.1>}} : tensor<{rows}x{columns}xf32>',
            f"%{made} = pp.matmul %{read}, %w_{name} : tensor<{batch}x{rows}xf32>, tensor<{rows}x{columns}xf32>"]


def skips(_ppopt, batch, width=40, depth=6, targets=8):
    """An MLP whose layers add the result of the layer before the last."""
    lines = linear(batch, "x", "in", width, width, "h0")
    of = f"tensor<{batch}x{width}xf32>"
    for i in range(depth):
        lines += linear(batch, f"h{i}", f"l{i}", width, width, f"z{i}")
        lines.append(f"%a{i} = pp.tanh %z{i} : {of}")
        lines.append(f"%h{i + 1} = pp.add %a{i}, %h{max(i - 1, 0)} : {of}, {of}")
    return chain(lines + linear(batch, f"h{depth}", "last", width, targets, "out"), batch, width, targets)


def towers(_ppopt, batch, inputs=32, wide=(96, 3), narrow=(24, 2), targets=8):
    """Two chains of the same input, of very different cost, that meet at the end. (width, depth) of each."""
    lines = []
    for tower, (width, depth) in {"a": wide, "b": narrow}.items():
        lines += linear(batch, "x", f"{tower}in", inputs, width, f"{tower}0")
        for i in range(depth):
            lines += linear(batch, f"{tower}{i}", f"{tower}w{i}", width, width, f"{tower}z{i}")
            lines.append(f"%{tower}{i + 1} = pp.relu %{tower}z{i} : tensor<{batch}x{width}xf32>")
        lines += linear(batch, f"{tower}{depth}", f"{tower}out", width, targets, f"{tower}_out")
    of = f"tensor<{batch}x{targets}xf32>"
    return chain([*lines, f"%out = pp.add %a_out, %b_out : {of}, {of}"], batch, inputs, targets)


def embedding(_ppopt, batch, rows=5003, width=16):
    """A wide table, and little else."""
    return (f'func.func @model(%ids: tensor<{batch}x16xi32> {{pp.input = "ids"}}, %t: tensor<{batch}x16xf32> {{pp.input = "t"}}) -> tensor<f32> {{\n'
            f'  %table = pp.param "table" {{init = #pp.init<normal, 0.0, 0.1>}} : tensor<{rows}x{width}xf32>\n'
            f"  %e = pp.embedding %table, %ids : tensor<{rows}x{width}xf32>, tensor<{batch}x16xi32>\n"
            f"  %m = pp.reduce mean %e [2] : tensor<{batch}x16x{width}xf32>\n"
            f"  %d = pp.sub %m, %t : tensor<{batch}x16xf32>, tensor<{batch}x16xf32>\n  %s = pp.mul %d, %d : tensor<{batch}x16xf32>, tensor<{batch}x16xf32>\n"
            f"  %loss = pp.reduce mean %s [0, 1] : tensor<{batch}x16xf32>\n  return %loss : tensor<f32>\n}}\n")


def thin(_ppopt, batch, width=8, depth=12):
    """Deep and thin: launches cost more than what they compute."""
    lines, of = [], f"tensor<{batch}x{width}xf32>"
    for i in range(depth):
        lines += linear(batch, f"h{i}" if i else "x", f"l{i}", width, width, f"z{i}")
        lines.append(f"%h{i + 1} = pp.tanh %z{i} : {of}")
    return chain([*lines, f"%out = pp.add %h{depth}, %x : {of}, {of}"], batch, width, width)


MODELS = {function.__name__: function for function in (gpt, llama, skips, towers, embedding, thin)}

# Sizes to draw from, by kind.
SIZES = {"gpt": {"layers": (2, 3, 4, 6), "width": (32, 64, 128), "heads": (2, 4), "vocab": (64, 257, 1000), "seq": (8, 32)},
         "llama": {"layers": (2, 3, 5), "width": (48, 96), "kv_heads": (1, 2, 6), "mlp_width": (96, 256), "vocab": (64, 100, 512), "seq": (8, 24)},
         "skips": {"width": (16, 40, 256), "depth": (3, 6, 9), "targets": (1, 8)},
         "towers": {"inputs": (16, 128), "wide": ((96, 3), (256, 2)), "narrow": ((24, 2), (96, 5)), "targets": (4, 8)},
         "embedding": {"rows": (300, 5003, 20000), "width": (8, 16, 64)},
         "thin": {"width": (8, 16), "depth": (6, 12)}}


def draw(random):
    """The kind and the sizes of a model."""
    kind = random.choice(list(SIZES))
    return kind, {name: random.choice(values) for name, values in SIZES[kind].items()}
