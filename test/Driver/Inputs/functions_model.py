"""functions_model.py TYPE: a model that computes each function of the dialect that the C library may be asked for."""
import sys

FUNCTIONS = ("exp", "log", "expm1", "log1p", "sin", "cos", "floor", "ceil", "round", "sqrt", "rsqrt", "atan", "tanh", "erf", "sigmoid", "softplus",
             "mish", "gelu")
vector = f"tensor<32x8x{sys.argv[1]}>"
print(f"""func.func @functions(%x: {vector} {{pp.input = "x"}}, %y: {vector} {{pp.input = "y"}}) -> tensor<{sys.argv[1]}> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 0.4>}} : tensor<8x8x{sys.argv[1]}>
  %h0 = pp.matmul %x, %w : {vector}, tensor<8x8x{sys.argv[1]}>
  %p = pp.power %x, %y : {vector}, {vector}
  %s0 = pp.add %h0, %p : {vector}, {vector}""")
for i, function in enumerate(FUNCTIONS):
    print(f"  %f{i} = pp.{function} %h0 : {vector}\n  %s{i + 1} = pp.add %s{i}, %f{i} : {vector}, {vector}")
print(f"""  %loss = pp.mse %s{len(FUNCTIONS)}, %y : {vector}, {vector}
  return %loss : tensor<{sys.argv[1]}>
}}""")
