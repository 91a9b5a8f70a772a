"""Models for the search of plans: small ones of six kinds."""
from support.executable import checked


def gpt(ppopt, batch):
    return checked([ppopt, "model", "gpt", "--layers", "4", "--width", "64", "--heads", "4", "--vocab", "257", "--seq", "32", "--batch", str(batch)]).stdout


def llama(ppopt, batch):
    return checked([ppopt, "model", "llama", "--layers", "3", "--width", "48", "--heads", "6", "--kv-heads", "2", "--mlp-width", "96", "--vocab", "100",
                    "--seq", "24", "--batch", str(batch)]).stdout


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


def skips(_ppopt, batch):
    """An MLP whose layers add the result of the layer before the last."""
    lines, width = linear(batch, "x", "in", 40, 40, "h0"), 40
    of = f"tensor<{batch}x{width}xf32>"
    for i in range(6):
        lines += linear(batch, f"h{i}", f"l{i}", width, width, f"z{i}")
        lines.append(f"%a{i} = pp.tanh %z{i} : {of}")
        lines.append(f"%h{i + 1} = pp.add %a{i}, %h{max(i - 1, 0)} : {of}, {of}")
    return chain(lines + linear(batch, "h6", "last", width, 8, "out"), batch, 40, 8)


def towers(_ppopt, batch):
    """Two chains of the same input, of very different cost, that meet at the end."""
    lines = []
    for tower, (width, depth) in {"a": (96, 3), "b": (24, 2)}.items():
        lines += linear(batch, "x", f"{tower}in", 32, width, f"{tower}0")
        for i in range(depth):
            lines += linear(batch, f"{tower}{i}", f"{tower}w{i}", width, width, f"{tower}z{i}")
            lines.append(f"%{tower}{i + 1} = pp.relu %{tower}z{i} : tensor<{batch}x{width}xf32>")
    lines += linear(batch, "a3", "aout", 96, 8, "left") + linear(batch, "b2", "bout", 24, 8, "right")
    return chain([*lines, f"%out = pp.add %left, %right : tensor<{batch}x8xf32>, tensor<{batch}x8xf32>"], batch, 32, 8)


def embedding(_ppopt, batch):
    """A wide table, and little else."""
    return (f'func.func @model(%ids: tensor<{batch}x16xi32> {{pp.input = "ids"}}, %t: tensor<{batch}x16xf32> {{pp.input = "t"}}) -> tensor<f32> {{\n'
            '  %table = pp.param "table" {init = #pp.init<normal, 0.0, 0.1>} : tensor<5003x16xf32>\n'
            f"  %e = pp.embedding %table, %ids : tensor<5003x16xf32>, tensor<{batch}x16xi32>\n"
            f"  %m = pp.reduce mean %e [2] : tensor<{batch}x16x16xf32>\n"
            f"  %d = pp.sub %m, %t : tensor<{batch}x16xf32>, tensor<{batch}x16xf32>\n  %s = pp.mul %d, %d : tensor<{batch}x16xf32>, tensor<{batch}x16xf32>\n"
            f"  %loss = pp.reduce mean %s [0, 1] : tensor<{batch}x16xf32>\n  return %loss : tensor<f32>\n}}\n")


def thin(_ppopt, batch):
    """Deep and thin: launches cost more than what they compute."""
    lines, of = [], f"tensor<{batch}x8xf32>"
    for i in range(12):
        lines += linear(batch, f"h{i}" if i else "x", f"l{i}", 8, 8, f"z{i}")
        lines.append(f"%h{i + 1} = pp.tanh %z{i} : {of}")
    return chain([*lines, f"%out = pp.add %h12, %x : {of}, {of}"], batch, 8, 8)


MODELS = {function.__name__: function for function in (gpt, llama, skips, towers, embedding, thin)}
