"""Models that generate, and how each is compiled."""


def gpt(dtype, *flags, **sizes):
    """Flags of `ppopt model gpt`. Neither the context nor the width of a head is a multiple of a vector."""
    sizes = {"layers": 2, "width": 20, "heads": 4, "vocab": 51, "seq": 37, "batch": 3, **sizes}
    sizes = [text for name, size in sizes.items() for text in (f"--{name}", str(size))]
    return [*sizes, "--dtype", dtype, "--ignore-index", "-100", *flags]


def small(causal="{causal}"):
    """One head of attention on tokens alone, in f64."""
    return f"""
!h = tensor<2x8x4xf64>
!a = tensor<2x1x8x4xf64>
func.func @small(%tokens: tensor<2x8xi32> {{pp.input = "tokens"}},
                 %targets: tensor<2x8xi32> {{pp.input = "targets", pp.shift = 1 : i64}}) -> tensor<f64> {{
  %wte = pp.param "wte" {{init = #pp.init<normal, 0.0, 0.4>}} : tensor<16x4xf64>
  %x = pp.embedding %wte, %tokens : tensor<16x4xf64>, tensor<2x8xi32>
  %q = pp.reshape %x : !h to !a
  %o, %lse = pp.attention %q, %q, %q {causal} : !a, !a, !a
  %y = pp.reshape %o : !a to !h
  %z = pp.matmul %y, %wte {{transpose_rhs}} : !h, tensor<16x4xf64>
  %l = pp.cross_entropy %z, %targets : tensor<2x8x16xf64>, tensor<2x8xi32>
  return %l : tensor<f64>
}}
"""


def llama(dtype):
    """RMS norm, gated MLP, rotary embeddings in either form, and a bias by position after the embedding (a constant times a counted
    position), grouped attention in one layer (two heads of keys for four of queries) and one head in the other, a head of
    its own, tokens of i64, and a residual stream whose rows of the batch and positions are merged."""
    rows, time, width, hidden, vocab = 2, 19, 24, 40, 30
    n = rows * time
    text = [f"""
!x = tensor<{n}x{width}x{dtype}>
!m = tensor<{n}x{hidden}x{dtype}>
func.func @llama(%tokens: tensor<{rows}x{time}xi64> {{pp.input = "tokens"}},
                 %targets: tensor<{rows}x{time}xi64> {{pp.input = "targets", pp.shift = 1 : i64}}) -> tensor<{dtype}> {{"""]

    def param(name, *shape):
        shape = "x".join(map(str, shape))
        text.append(f"""  %{name} = pp.param "{name}" {{init = #pp.init<normal, 0.0, 0.4>}} : tensor<{shape}x{dtype}>""")

    def line(value):
        text.append("  " + value)

    param("wte", vocab, width)
    param("head", width, vocab)
    param("slope", width)
    # A learned table in another order: its positions are the last dimension.
    param("table", width, time)
    line(f"%e3 = pp.embedding %wte, %tokens : tensor<{vocab}x{width}x{dtype}>, tensor<{rows}x{time}xi64>")
    line(f"%count = pp.iota {{dim = 0 : i64}} -> tensor<{time}x{width}x{dtype}>")
    line(f"%bias = pp.mul %count, %slope : tensor<{time}x{width}x{dtype}>, tensor<{width}x{dtype}>")
    line(f"%table_t = pp.transpose %table [1, 0] : tensor<{width}x{time}x{dtype}>")
    line(f"%places = pp.tanh %table_t : tensor<{time}x{width}x{dtype}>")
    line(f"%e4 = pp.add %e3, %bias : tensor<{rows}x{time}x{width}x{dtype}>, tensor<{time}x{width}x{dtype}>")
    line(f"%e5 = pp.add %e4, %places : tensor<{rows}x{time}x{width}x{dtype}>, tensor<{time}x{width}x{dtype}>")
    line(f"%h0 = pp.reshape %e5 : tensor<{rows}x{time}x{width}x{dtype}> to !x")
    for layer, (heads, groups) in enumerate([(4, 2), (1, 1)]):
        size, p = width // heads, f"l{layer}"
        each = heads // groups
        for name, shape in (("norm", [width]), ("wq", [width, width]), ("wk", [width, groups * size]),
                            ("wv", [width, groups * size]), ("wo", [width, width]), ("norm2", [width]),
                            ("w1", [width, hidden]), ("w3", [width, hidden]), ("w2", [hidden, width])):
            param(f"{p}{name}", *shape)
        line(f"%{p}n = pp.rms_norm %h{layer}, %{p}norm : !x, tensor<{width}x{dtype}>")
        for name, count in (("q", heads), ("k", groups), ("v", groups)):
            flat = f"tensor<{n}x{count * size}x{dtype}>"
            parted = f"tensor<{rows}x{time}x{count}x{size}x{dtype}>"
            line(f"%{p}{name}0 = pp.matmul %{p}n, %{p}w{name} : !x, tensor<{width}x{count * size}x{dtype}>")
            line(f"%{p}{name}1 = pp.reshape %{p}{name}0 : {flat} to {parted}")
            line(f"%{p}{name}2 = pp.transpose %{p}{name}1 [0, 2, 1, 3] : {parted}")
            if count != heads:
                one = f"tensor<{rows}x{count}x{time}x{size}x{dtype}>"
                many = f"tensor<{rows}x{count}x{each}x{time}x{size}x{dtype}>"
                line(f"%{p}{name}3 = pp.broadcast %{p}{name}2 [0, 1, 3, 4] : {one} to {many}")
                line(f"%{p}{name} = pp.reshape %{p}{name}3 : {many} to tensor<{rows}x{heads}x{time}x{size}x{dtype}>")
            else:
                line(f"%{p}{name} = pp.reshape %{p}{name}2 : tensor<{rows}x{heads}x{time}x{size}x{dtype}> "
                     f"to tensor<{rows}x{heads}x{time}x{size}x{dtype}>")
        a = f"tensor<{rows}x{heads}x{time}x{size}x{dtype}>"
        rotary = ["{base = 50.0 : f64}", "scaled linear {base = 20.0 : f64, factor = 2.0 : f64, interleaved, width = 16 : i64}"][layer]
        for name in "qk":
            line(f"%{p}{name}r = pp.rotary %{p}{name} {rotary} : {a}")
        line(f"%{p}o, %{p}lse = pp.attention %{p}qr, %{p}kr, %{p}v {{causal, scale = 0.3 : f64}} : {a}, {a}, {a}")
        line(f"%{p}o1 = pp.transpose %{p}o [0, 2, 1, 3] : {a}")
        line(f"%{p}o2 = pp.reshape %{p}o1 : tensor<{rows}x{time}x{heads}x{size}x{dtype}> to !x")
        line(f"%{p}o3 = pp.matmul %{p}o2, %{p}wo : !x, tensor<{width}x{width}x{dtype}>")
        line(f"%{p}r = pp.add %h{layer}, %{p}o3 : !x, !x")
        line(f"%{p}n2 = pp.rms_norm %{p}r, %{p}norm2 : !x, tensor<{width}x{dtype}>")
        line(f"%{p}m1 = pp.matmul %{p}n2, %{p}w1 : !x, tensor<{width}x{hidden}x{dtype}>")
        line(f"%{p}m3 = pp.matmul %{p}n2, %{p}w3 : !x, tensor<{width}x{hidden}x{dtype}>")
        line(f"%{p}g = pp.silu %{p}m1 : !m")
        line(f"%{p}gm = pp.mul %{p}g, %{p}m3 : !m, !m")
        line(f"%{p}m2 = pp.matmul %{p}gm, %{p}w2 : !m, tensor<{hidden}x{width}x{dtype}>")
        line(f"%h{layer + 1} = pp.add %{p}r, %{p}m2 : !x, !x")
    line(f"%z = pp.matmul %h2, %head : !x, tensor<{width}x{vocab}x{dtype}>")
    line(f"%t = pp.reshape %targets : tensor<{rows}x{time}xi64> to tensor<{n}xi64>")
    line(f"%l = pp.cross_entropy %z, %t {{ignore_index = -100 : i64}} : tensor<{n}x{vocab}x{dtype}>, tensor<{n}xi64>")
    line(f"return %l : tensor<{dtype}>")
    return "\n".join(text) + "\n}\n"


def windowed(dtype):
    """Two heads of keys for four of queries, a window, slopes and a soft cap."""
    rows, time, vocab, heads, groups, size = 2, 23, 17, 4, 2, 5
    width = heads * size

    def part(count):
        return f"tensor<{rows}x{time}x{count}x{size}x{dtype}>", f"tensor<{rows}x{count}x{time}x{size}x{dtype}>"
    lines = [f"""
!x = tensor<{rows}x{time}x{width}x{dtype}>
func.func @windowed(%tokens: tensor<{rows}x{time}xi32> {{pp.input = "tokens"}},
                    %targets: tensor<{rows}x{time}xi32> {{pp.input = "targets", pp.shift = 1 : i64}}) -> tensor<{dtype}> {{
  %wte = pp.param "wte" {{init = #pp.init<normal, 0.0, 0.6>}} : tensor<{vocab}x{width}x{dtype}>
  %slopes = pp.param "slopes" {{init = #pp.init<uniform, 0.01, 0.2>}} : tensor<{heads}x{dtype}>
  %x = pp.embedding %wte, %tokens : tensor<{vocab}x{width}x{dtype}>, tensor<{rows}x{time}xi32>"""]
    for name, count in (("q", heads), ("k", groups), ("v", groups)):
        parted, first = part(count)
        lines += [f'  %w{name} = pp.param "w{name}" {{init = #pp.init<normal, 0.0, 0.6>}} : tensor<{width}x{count * size}x{dtype}>',
                  f"  %{name}0 = pp.matmul %x, %w{name} : !x, tensor<{width}x{count * size}x{dtype}>",
                  f"  %{name}1 = pp.reshape %{name}0 : tensor<{rows}x{time}x{count * size}x{dtype}> to {parted}",
                  f"  %{name} = pp.transpose %{name}1 [0, 2, 1, 3] : {parted}"]
    q, k = part(heads)[1], part(groups)[1]
    lines += [f"""  %o, %lse = pp.attention %q, %k, %v slopes %slopes {{causal, window = 6 : i64, soft_cap = 1.5 : f64, scale = 0.5 : f64}}
      : {q}, {k}, {k}, tensor<{heads}x{dtype}>
  %o1 = pp.transpose %o [0, 2, 1, 3] : {q}
  %o2 = pp.reshape %o1 : {part(heads)[0]} to !x
  %z = pp.matmul %o2, %wte {{transpose_rhs}} : !x, tensor<{vocab}x{width}x{dtype}>
  %l = pp.cross_entropy %z, %targets : tensor<{rows}x{time}x{vocab}x{dtype}>, tensor<{rows}x{time}xi32>
  return %l : tensor<{dtype}>
}}"""]
    return "\n".join(lines) + "\n"


def cases():
    """[(name, model text or flags of `ppopt model gpt`, flags, precision)]"""
    return [
        ("gpt in f64", gpt("f64"), [], "f64"),
        ("gpt in f32", gpt("f32"), [], "f32"),
        ("gpt in bf16", gpt("f32", width=64), ["--precision", "bf16"], "bf16"),
        ("gpt untied", gpt("f64", "--untied"), [], "f64"),
        ("gpt with dropout", gpt("f64", "--dropout", "0.3"), [], "f64"),
        ("gpt of one position", gpt("f64", seq=1), [], "f64"),
        ("gpt on a mesh", gpt("f64", batch=4), ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--recompute", "layer"],
         "f64"),
        ("gpt with a context of more than a block", gpt("f64", batch=1, layers=1, width=8, heads=1, seq=4500), [], "f64"),
        ("llama in f64", llama("f64"), [], "f64"),
        ("llama in f32", llama("f32"), [], "f32"),
        ("llama for a plain processor", llama("f32"), ["--cpu", "x86-64-v3"], "f32"),
        ("attention on tokens alone", small(), [], "f64"),
        ("window, slopes and cap in f64", windowed("f64"), [], "f64"),
        ("window, slopes and cap in f32", windowed("f32"), ["--threshold", "step-keys=4"], "f32"),
        ("dropped probabilities", small("{causal, dropout = 0.3 : f64}"), [], "f64"),
    ]
