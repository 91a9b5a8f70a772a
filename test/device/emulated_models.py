"""Models whose kernels are run on the emulated device, of any sizes: each is the text of a module."""
import re

CAUSAL = "causal"


def in_type(text, element):
    """The model with floats of another type. Losses of bf16 are f32, and are cast."""
    text = re.sub(r"\btensor<((?:\d+x)*)f64>", rf"tensor<\g<1>{element}>", text)
    if element != "bf16":
        return text

    def narrow(match):
        name, op, targets = match.groups()
        shape = targets if op == "token_loss" else ""
        return f"{match[0].replace(name, name + '_wide', 1)}\n  {name} = pp.cast {name}_wide : tensor<{shape}f32> to tensor<{shape}bf16>"
    return re.sub(r"(%\w+) = pp\.(cross_entropy|mse|token_loss) .*tensor<((?:\d+x)*)\w+>$", narrow, text, flags=re.MULTILINE)


def rows_model(rows, columns, element):
    """What a transformer does to rows, without matmuls and attention: norms, activations, biases, a softmax, a look-up and a loss. A norm of
    one column is what rounding leaves, and nothing to compare."""
    t, v, ids = f"tensor<{rows}x{columns}x{element}>", f"tensor<{columns}x{element}>", f"tensor<{rows}xi32>"
    table, loss = f"tensor<9x{columns}x{element}>", f"tensor<{'f32' if element == 'bf16' else element}>"
    return f"""
func.func @rows(%ids: {ids} {{pp.input = "ids"}}, %targets: {ids} {{pp.input = "targets"}}) -> {loss} {{
  %table = pp.param "table" {{init = #pp.init<normal, 0.0, 1.0>}} : {table}
  {f'%g = pp.param "g" {{init = #pp.init<ones>}} : {v}' if columns > 1 else ""}
  %b = pp.param "b" {{init = #pp.init<zeros>}} : {v}
  %c = pp.param "c" {{init = #pp.init<normal, 0.0, 1.0>}} : {v}
  %e = pp.embedding %table, %ids : {table}, {ids}
  %n = {"pp.add %e, %b" if columns == 1 else "pp.layer_norm %e, %g, %b"} : {t}, {v}{"" if columns == 1 else f", {v}"}
  %a = pp.add %n, %c : {t}, {v}
  %u = pp.gelu %a {{tanh}} : {t}
  %s = pp.softmax %u : {t}
  %r = pp.{"mul" if columns == 1 else "rms_norm"} %a, %c : {t}, {v}
  %m = pp.mul %s, %r : {t}, {t}
  %x = pp.silu %m : {t}
  %loss = pp.cross_entropy %x, %targets {{ignore_index = -1 : i64}} : {t}, {ids}
  return %loss : {loss}
}}
"""


def scatter_model(rows, table, columns, element, ids):
    """A look-up of two batches of ids. What is added to the table's gradient is computed where it is added."""
    t, x, i = f"tensor<{table}x{columns}x{element}>", f"tensor<2x{rows}x{columns}x{element}>", f"tensor<2x{rows}x{ids}>"
    wide = "f32" if element == "bf16" else element
    cast = f"%c = pp.cast %m : {x} to {x.replace('bf16', 'f32')}" if element == "bf16" else f"%c = pp.relu %m : {x}"
    return f"""
func.func @scatter(%ids: {i} {{pp.input = "ids"}}) -> tensor<{wide}> {{
  %table = pp.param "table" {{init = #pp.init<normal, 0.0, 1.0>}} : {t}
  %g = pp.param "g" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{columns}x{element}>
  %e = pp.embedding %table, %ids : {t}, {i}
  %m = pp.mul %e, %g : {x}, tensor<{columns}x{element}>
  {cast}
  %s = pp.mul %c, %c : {x.replace("bf16", "f32")}, {x.replace("bf16", "f32")}
  %loss = pp.reduce mean %s [0, 1, 2] : {x.replace("bf16", "f32")}
  return %loss : tensor<{wide}>
}}
"""


def index_model(rows, columns, k, element):
    """Rows in order, the first k of them, a scatter of them, and a running sum: of more elements than a block has threads, and fewer."""
    x, first, ids = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{k}x{element}>", f"tensor<{rows}x{k}xi32>"
    wide = "f32" if element == "bf16" else element
    return f"""
func.func @indices(%x: {x} {{pp.input = "x"}}) -> tensor<{wide}> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{columns}x{element}>
  %h = pp.mul %x, %w : {x}, tensor<{columns}x{element}>
  %all, %order = pp.sort %h {{dim = 1 : i64}} : {x} -> {x}, tensor<{rows}x{columns}xi64>
  %first, %ids = pp.top_k %h {{k = {k} : i64, dim = 1 : i64}} : {x} -> {first}, {ids}
  %added = pp.scatter_add %all, %ids, %first {{dim = 1 : i64}} : {x}, {ids}, {first}
  %sums = pp.cumsum %added {{dim = 0 : i64}} : {x}
  %c = pp.cast %sums : {x} to tensor<{rows}x{columns}x{wide}>
  %loss = pp.reduce mean %c [0, 1] : tensor<{rows}x{columns}x{wide}>
  return %loss : tensor<{wide}>
}}
"""


def conv_model(x, w, sizes, windows, element):
    """A convolution and its gradients. `x`: [B, G, C, S...], `w`: [G, O, C, K...], `sizes`: P..."""
    def typed(shape, element=element):
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"
    y, wide = (*x[:2], w[1], *sizes), "f32" if element == "bf16" else element
    return f"""
func.func @conv(%x: {typed(x)} {{pp.input = "x"}}) -> tensor<{wide}> {{
  %g = pp.param "g" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{x[-1]}x{element}>
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : {typed(w)}
  %h = pp.mul %x, %g : {typed(x)}, tensor<{x[-1]}x{element}>
  %y = pp.conv %h, %w {windows} : {typed(x)}, {typed(w)} to {typed(y)}
  %c = pp.cast %y : {typed(y)} to {typed(y, wide)}
  %s = pp.mul %c, %c : {typed(y, wide)}, {typed(y, wide)}
  %loss = pp.reduce mean %s {list(range(len(y)))} : {typed(y, wide)}
  return %loss : tensor<{wide}>
}}
"""


def head_model(rows, columns, element):
    """A head with a bias and a loss: matmuls write and read the logits and their gradient, whose rows are padded."""
    x, w, b = f"tensor<2x{rows}x8x{element}>", f"tensor<8x{columns}x{element}>", f"tensor<{columns}x{element}>"
    z, ids, loss = f"tensor<2x{rows}x{columns}x{element}>", f"tensor<2x{rows}xi32>", f"tensor<{'f32' if element == 'bf16' else element}>"
    return f"""
func.func @head(%x: {x} {{pp.input = "x"}}, %targets: {ids} {{pp.input = "targets"}}) -> {loss} {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : {w}
  %b = pp.param "b" {{init = #pp.init<normal, 0.0, 1.0>}} : {b}
  %m = pp.matmul %x, %w : {x}, {w}
  %a = pp.add %m, %b : {z}, {b}
  %r = pp.relu %a : {z}
  %z = pp.add %r, %m : {z}, {z}
  %loss = pp.cross_entropy %z, %targets {{ignore_index = -1 : i64}} : {z}, {ids}
  return %loss : {loss}
}}
"""


def attention_model(batch, heads, queries, keys, width, value_width, causal, element):
    """Attention and its gradient, with operands that are computed (a parameter's multiples)."""
    shapes = {"q": (queries, width), "k": (keys, width), "v": (keys, value_width)}
    full = {name: f"tensor<{batch}x{heads}x{rows}x{columns}x{element}>" for name, (rows, columns) in shapes.items()}
    row = {name: f"tensor<{columns}x{element}>" for name, (_, columns) in shapes.items()}
    statistics = "f32" if element == "bf16" else element
    out, wide = f"tensor<{batch}x{heads}x{queries}x{value_width}x{element}>", f"tensor<{batch}x{heads}x{queries}x{value_width}x{statistics}>"
    lines = [f"""  %w_{name} = pp.param "w_{name}" {{init = #pp.init<normal, 0.0, 1.0>}} : {row[name]}
  %{name} = pp.mul %x_{name}, %w_{name} : {full[name]}, {row[name]}""" for name in shapes]
    body = "\n".join(lines)
    inputs = ", ".join(f'%x_{name}: {full[name]} {{pp.input = "{name}"}}' for name in shapes)
    return f"""
func.func @attention({inputs}) -> tensor<{statistics}> {{
{body}
  %out, %lse = pp.attention %q, %k, %v{" {causal}" if causal else ""} : {full["q"]}, {full["k"]}, {full["v"]}
  %c = pp.cast %out : {out} to {wide}
  %s = pp.mul %c, %c : {wide}, {wide}
  %loss = pp.reduce mean %s [0, 1, 2, 3] : {wide}
  return %loss : tensor<{statistics}>
}}
"""


def changed_attention_model(sizes, key_heads, changes, element):
    """Attention whose scores are changed or hidden, and its gradient. `changes`: attributes as they are written, and in this order
    `bias` and `mask` with the dimensions of scores that they have (`mask b11s`), `slopes`, `segments`."""
    batch, heads, queries, keys, width, value_width = sizes
    statistics = "f32" if element == "bf16" else element
    dims = dict(zip("bhts", (batch, heads, queries, keys)))

    def tensor(*shape, of=element):
        return f"tensor<{'x'.join(map(str, shape))}x{of}>"
    inputs = {"q": tensor(batch, heads, queries, width), "k": tensor(batch, key_heads, keys, width), "v": tensor(batch, key_heads, keys, value_width)}
    operands, types, attributes, lines = ["%q, %k, %v"], [*inputs.values()], [], []
    for name, kind in inputs.items():
        row = tensor(kind.split("x")[3])
        lines += [f'%w_{name} = pp.param "w_{name}" {{init = #pp.init<normal, 0.0, 1.0>}} : {row}', f"%{name} = pp.mul %x_{name}, %w_{name} : {kind}, {row}"]
    arguments = [f'%x_{name}: {kind} {{pp.input = "{name}"}}' for name, kind in inputs.items()]
    for change in changes:
        name, _, shape = change.partition(" ")
        shape = [dims.get(letter, 1) for letter in shape]
        kind = {"bias": tensor(*shape, of=statistics), "mask": tensor(*shape, of="i1"), "slopes": tensor(heads), "segments": tensor(batch, queries, of="i32")}.get(name)
        if not kind:
            attributes.append(change)
            continue
        operands.append(f"{name} %{name}")
        types.append(kind)
        if name in ("mask", "segments"):
            arguments.append(f'%{name}: {kind} {{pp.input = "{name}"}}')
        else:
            lines.append(f'%{name} = pp.param "{name}" {{init = #pp.init<normal, 0.0, 1.0>}} : {kind}')
    out, wide = tensor(batch, heads, queries, value_width), tensor(batch, heads, queries, value_width, of=statistics)
    lines += [f"%out, %lse = pp.attention {' '.join(operands)} {{{', '.join(attributes)}}} : {', '.join(types)}", f"%c = pp.cast %out : {out} to {wide}",
              f"%s = pp.mul %c, %c : {wide}, {wide}", f"%loss = pp.reduce mean %s [0, 1, 2, 3] : {wide}"]
    body = "\n".join("  " + line for line in lines)
    return f"func.func @attention({', '.join(arguments)}) -> tensor<{statistics}> {{\n{body}\n  return %loss : tensor<{statistics}>\n}}\n"


def grouped_generator(heads, key_heads, width, positions, changes, element):
    """One layer of attention whose heads share keys, and whose scores are changed. `changes` as in changed_attention_model."""
    tokens, loss = f"tensor<1x{positions}xi32>", f"tensor<{element}>"

    def of(*shape):
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"
    x, w = of(1, positions, heads * width), of(16, heads * width)
    attributes = ", ".join(change for change in changes if change != "slopes")
    slopes = "slopes" in changes
    lines = [f'%wte = pp.param "wte" {{init = #pp.init<normal, 0.0, 0.4>}} : {w}', f"%x = pp.embedding %wte, %tokens : {w}, {tokens}"]
    if slopes:
        lines.append(f'%slopes = pp.param "slopes" {{init = #pp.init<normal, 0.0, 0.4>}} : {of(heads)}')
    for name, count in (("q", heads), ("k", key_heads), ("v", key_heads)):
        wide, flat, split = of(heads * width, count * width), of(1, positions, count * width), of(1, positions, count, width)
        lines += [f'%w{name} = pp.param "w{name}" {{init = #pp.init<normal, 0.0, 0.4>}} : {wide}', f"%{name}0 = pp.matmul %x, %w{name} : {x}, {wide}",
                  f"%{name}1 = pp.reshape %{name}0 : {flat} to {split}", f"%{name} = pp.transpose %{name}1 [0, 2, 1, 3] : {split}"]
    q, k = of(1, heads, positions, width), of(1, key_heads, positions, width)
    lines += [f"%o, %lse = pp.attention %q, %k, %v {'slopes %slopes' if slopes else ''} {{{attributes}}} : {q}, {k}, {k}{', ' + of(heads) if slopes else ''}",
              f"%o1 = pp.transpose %o [0, 2, 1, 3] : {q}", f"%o2 = pp.reshape %o1 : {of(1, positions, heads, width)} to {x}",
              f"%z = pp.matmul %o2, %wte {{transpose_rhs}} : {x}, {w}", f"%l = pp.cross_entropy %z, %targets : {of(1, positions, 16)}, {tokens}"]
    body = "\n".join("  " + line for line in lines)
    return (f'func.func @grouped(%tokens: {tokens} {{pp.input = "tokens"}}, %targets: {tokens} {{pp.input = "targets", pp.shift = 1 : i64}}) -> {loss} {{\n'
            f"{body}\n  return %l : {loss}\n}}\n")


# Values of more than 2^31 elements.
HUGE = """
func.func @huge(%x: tensor<65600x32768xbf16> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<32768xbf16>
  %y = pp.mul %x, %w : tensor<65600x32768xbf16>, tensor<32768xbf16>
  %r = pp.relu %y : tensor<65600x32768xbf16>
  %c = pp.cast %r : tensor<65600x32768xbf16> to tensor<65600x32768xf32>
  %loss = pp.reduce mean %c [0, 1] : tensor<65600x32768xf32>
  return %loss : tensor<f32>
}
"""

# Between matmuls an op is alone.
FLAT = """
func.func @flat(%x: tensor<9x33xf32> {pp.input = "x"}, %y: tensor<9x33xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 1.0>} : tensor<33x33xf32>
  %m = pp.matmul %x, %w : tensor<9x33xf32>, tensor<33x33xf32>
  %h = pp.tanh %m : tensor<9x33xf32>
  %n = pp.matmul %h, %w : tensor<9x33xf32>, tensor<33x33xf32>
  %loss = pp.mse %n, %y : tensor<9x33xf32>, tensor<9x33xf32>
  return %loss : tensor<f32>
}
"""
