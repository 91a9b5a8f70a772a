"""Writes a model of residual layers as a repeat, or written out.

usage: repeats.py LAYERS [written-out]
"""

import sys

X = "tensor<8x8xf32>"
LAYER = """\
    %w{n} = pp.param "h.{i}.w" {{init = #pp.init<normal, 0.0, 0.1>}} : tensor<8x8xf32>
    %c{n} = {scale}
    %d{n} = pp.dropout {from} {{p = 0.1 : f64}} : X
    %m{n} = pp.matmul %d{n}, %w{n} : X, tensor<8x8xf32>
    %s{n} = pp.mul %m{n}, %c{n} : X, tensor<f32>
    %h{n} = pp.add {from}, %s{n} : X, X
"""


def main(layers, form="repeat"):
    print(f'func.func @layers(%x: {X} {{pp.input = "x"}}, %y: {X} {{pp.input = "y"}}) -> tensor<f32> {{')
    scales = [1 / 2**n for n in range(int(layers))]
    last = "%x"
    if form == "repeat":
        print(f"  %last = pp.repeat {layers} iter (%h = %x) -> ({X}) {{")
        scale = f"pp.each dense<{scales}> : tensor<{layers}xf32>"
        print(LAYER.format(n="_", i="{i}", scale=scale, **{"from": "%h"}).replace("X", X) + f"    pp.yield %h_ : {X}\n  }}")
        last = "%last"
    else:
        for n, each in enumerate(scales):
            print(LAYER.format(n=n, i=n, scale=f"pp.constant dense<{each}> : tensor<f32>", **{"from": last}).replace("X", X), end="")
            last = f"%h{n}"
    print(f"  %loss = pp.mse {last}, %y : {X}, {X}\n  return %loss : tensor<f32>\n}}")


if __name__ == "__main__":
    main(*sys.argv[1:])
