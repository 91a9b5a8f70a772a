"""Models with states, their parameters and rows: networks that normalize by the statistics of their batch, written out and by pp.batch_norm, and one that
centres its inputs by an average of those before."""
import re

import numpy as np

BATCH, STEPS, EVALUATED = 8, 10, 21  # EVALUATED: no multiple of the batch
WIDTHS = {"x": 6, "h": 5, "y": 3}
LR, MOMENTUM, EPS, KEPT = 0.25, 0.1, 1e-5, 0.75


def tensors(text):
    """Writes T(8x6) as tensor<8x6xf64>, and T() as tensor<f64>."""
    return text.replace("T()", "tensor<f64>").replace("T(", "tensor<").replace(")T", "xf64>")


NORM = """func.func @norm(%x: T(8x6)T {pp.input = "x"}, %y: T(8x3)T {pp.input = "y"}) -> T() {
  %w = pp.param "w" {init = #pp.init<zeros>} : T(6x5)T
  %scale = pp.param "norm.weight" {init = #pp.init<ones>} : T(5)T
  %bias = pp.param "norm.bias" {init = #pp.init<zeros>} : T(5)T
  %v = pp.param "v" {init = #pp.init<zeros>} : T(5x3)T
  %running_mean = pp.param "norm.running_mean" {init = #pp.init<zeros>, state} : T(5)T
  %running_var = pp.param "norm.running_var" {init = #pp.init<ones>, state} : T(5)T
  %h = ON0 T(8x5)T {
    %m = pp.matmul %x, %w : T(8x6)T, T(6x5)T
    pp.yield %m : T(8x5)T
  }
  %a = func.call @norm_layer(%h, %scale, %bias, %running_mean, %running_var) : (T(8x5)T, T(5)T, T(5)T, T(5)T, T(5)T) -> T(8x5)T
  %loss = ON1 T() {
    %t = pp.tanh %a : T(8x5)T
    %o = pp.matmul %t, %v : T(8x5)T, T(5x3)T
    %l = pp.mse %o, %y : T(8x3)T, T(8x3)T
    pp.yield %l : T()
  }
  return %loss : T()
}

func.func @norm_layer(%x: T(8x5)T, %scale: T(5)T, %bias: T(5)T, %running_mean: T(5)T, %running_var: T(5)T) -> T(8x5)T {
  %batch_mean = pp.reduce mean %x [0] : T(8x5)T
  %from_mean = pp.sub %x, %batch_mean : T(8x5)T, T(5)T
  %squares = pp.mul %from_mean, %from_mean : T(8x5)T, T(8x5)T
  %batch_var = pp.reduce mean %squares [0] : T(8x5)T
  %mean = pp.by_mode %batch_mean, %running_mean : T(5)T
  %var = pp.by_mode %batch_var, %running_var : T(5)T
  %eps = pp.constant dense<1.0e-05> : T(5)T
  %shifted = pp.add %var, %eps : T(5)T, T(5)T
  %deviation = pp.sqrt %shifted : T(5)T
  %centred = pp.sub %x, %mean : T(8x5)T, T(5)T
  %normed = pp.div %centred, %deviation : T(8x5)T, T(5)T
  %scaled = pp.mul %normed, %scale : T(8x5)T, T(5)T
  %result = pp.add %scaled, %bias : T(8x5)T, T(5)T
  %kept = pp.constant dense<0.9> : T(5)T
  %taken = pp.constant dense<0.1> : T(5)T
  %unbiased = pp.constant dense<1.1428571428571428> : T(5)T
  %old_mean = pp.proposed %running_mean : T(5)T
  %kept_mean = pp.mul %old_mean, %kept : T(5)T, T(5)T
  %taken_mean = pp.mul %batch_mean, %taken : T(5)T, T(5)T
  %new_mean = pp.add %kept_mean, %taken_mean : T(5)T, T(5)T
  pp.propose %running_mean, %new_mean : T(5)T
  %old_var = pp.proposed %running_var : T(5)T
  %kept_var = pp.mul %old_var, %kept : T(5)T, T(5)T
  %of_rows = pp.mul %batch_var, %unbiased : T(5)T, T(5)T
  %taken_var = pp.mul %of_rows, %taken : T(5)T, T(5)T
  %new_var = pp.add %kept_var, %taken_var : T(5)T, T(5)T
  pp.propose %running_var, %new_var : T(5)T
  return %result : T(8x5)T
}
"""

# The same with the statistics of each microbatch, which proposes in its turn. What evaluations read is outside of the region: rows stay apart there.
REGION = NORM[:NORM.index("  %batch_mean =")] + """  %batch_normed = pp.per_microbatch -> T(8x5)T {
  %batch_mean = pp.reduce mean %x [0] : T(8x5)T
  %from_mean = pp.sub %x, %batch_mean : T(8x5)T, T(5)T
  %squares = pp.mul %from_mean, %from_mean : T(8x5)T, T(8x5)T
  %batch_var = pp.reduce mean %squares [0] : T(8x5)T
  %batch_eps = pp.constant dense<1.0e-05> : T(5)T
  %batch_shifted = pp.add %batch_var, %batch_eps : T(5)T, T(5)T
  %batch_deviation = pp.sqrt %batch_shifted : T(5)T
  %batch_result = pp.div %from_mean, %batch_deviation : T(8x5)T, T(5)T
""" + NORM[NORM.index("  %kept ="):NORM.index("  return %result")] + """  pp.yield %batch_result : T(8x5)T
  }
  %eps = pp.constant dense<1.0e-05> : T(5)T
  %shifted = pp.add %running_var, %eps : T(5)T, T(5)T
  %deviation = pp.sqrt %shifted : T(5)T
  %centred = pp.sub %x, %running_mean : T(8x5)T, T(5)T
  %running_normed = pp.div %centred, %deviation : T(8x5)T, T(5)T
  %normed = pp.by_mode %batch_normed, %running_normed : T(8x5)T
  %scaled = pp.mul %normed, %scale : T(8x5)T, T(5)T
  %result = pp.add %scaled, %bias : T(8x5)T, T(5)T
  return %result : T(8x5)T
}
"""

# The same by one op.
BATCH_NORM = NORM[:NORM.index("  %batch_mean =")] + """  %result = pp.batch_norm %x, %scale, %bias, %running_mean, %running_var : T(8x5)T, T(5)T
""" + NORM[NORM.index("  return %result"):]

# Two of them over [rows, channels, positions]: one of the channels, with numbers of its own, and one of the last dimension.
POSITIONS = """func.func @positions(%x: T(8x6)T {pp.input = "x"}, %y: T(8x3)T {pp.input = "y"}) -> T() {
  %w = pp.param "w" {init = #pp.init<zeros>} : T(2x5)T
  %scale = pp.param "norm.weight" {init = #pp.init<ones>} : T(5)T
  %bias = pp.param "norm.bias" {init = #pp.init<zeros>} : T(5)T
  %scale2 = pp.param "last.weight" {init = #pp.init<ones>} : T(3)T
  %bias2 = pp.param "last.bias" {init = #pp.init<zeros>} : T(3)T
  %v = pp.param "v" {init = #pp.init<zeros>} : T(15x3)T
  %running_mean = pp.param "norm.running_mean" {init = #pp.init<zeros>, state} : T(5)T
  %running_var = pp.param "norm.running_var" {init = #pp.init<ones>, state} : T(5)T
  %last_mean = pp.param "last.running_mean" {init = #pp.init<zeros>, state} : T(3)T
  %last_var = pp.param "last.running_var" {init = #pp.init<ones>, state} : T(3)T
  %a = ON0 T(8x5x3)T {
    %p = pp.reshape %x : T(8x6)T to T(8x3x2)T
    %m = pp.matmul %p, %w : T(8x3x2)T, T(2x5)T
    %c = pp.transpose %m [0, 2, 1] : T(8x3x5)T
    %n = pp.batch_norm %c, %scale, %bias, %running_mean, %running_var {eps = 1.0e-3 : f64, momentum = 0.3 : f64} : T(8x5x3)T, T(5)T
    pp.yield %n : T(8x5x3)T
  }
  %loss = ON1 T() {
    %t = pp.tanh %a : T(8x5x3)T
    %n = pp.batch_norm %t, %scale2, %bias2, %last_mean, %last_var {dim = 2 : i64} : T(8x5x3)T, T(3)T
    %f = pp.reshape %n : T(8x5x3)T to T(8x15)T
    %o = pp.matmul %f, %v : T(8x15)T, T(15x3)T
    %l = pp.mse %o, %y : T(8x3)T, T(8x3)T
    pp.yield %l : T()
  }
  return %loss : T()
}
"""

# Each microbatch moves the average towards the mean of the whole batch, which is known before the first forward, and adds one to a count.
CENTRE = """func.func @centre(%x: T(8x6)T {pp.input = "x"}, %y: T(8x3)T {pp.input = "y"}) -> (T(), T() {pp.metric = "count"}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : T(6x5)T
  %v = pp.param "v" {init = #pp.init<zeros>} : T(5x3)T
  %average = pp.param "average" {init = #pp.init<zeros>, state} : T(6)T
  %count = pp.param "count" {init = #pp.init<zeros>, state} : T()
  %h = ON0 T(8x5)T {
    %c = pp.sub %x, %average : T(8x6)T, T(6)T
    %m = pp.matmul %c, %w : T(8x6)T, T(6x5)T
    %mean = pp.reduce mean %x [0] : T(8x6)T
    %old = pp.proposed %average : T(6)T
    %from = pp.sub %mean, %old : T(6)T, T(6)T
    %share = pp.constant dense<0.25> : T(6)T
    %step = pp.mul %from, %share : T(6)T, T(6)T
    %new = pp.add %old, %step : T(6)T, T(6)T
    pp.propose %average, %new : T(6)T
    pp.yield %m : T(8x5)T
  }
  %loss, %counted = ON1 T(), T() {
    %t = pp.tanh %h : T(8x5)T
    %o = pp.matmul %t, %v : T(8x5)T, T(5x3)T
    %l = pp.mse %o, %y : T(8x3)T, T(8x3)T
    %before = pp.proposed %count : T()
    %one = pp.constant dense<1.0> : T()
    %after = pp.add %before, %one : T(), T()
    pp.propose %count, %after : T()
    %none = pp.constant dense<0.0> : T()
    %now = pp.add %count, %none : T(), T()
    pp.yield %l, %now : T(), T()
  }
  return %loss, %counted : T(), T()
}
"""


MARK = re.compile(r"  (%[^\n=]*) = ON\d [^{]*\{\n(.*?)    pp\.yield (.*?) : [^\n]*\n  \}\n", re.DOTALL)


def without_mark(found):
    """The lines of a mark, which make its results."""
    results, lines, yielded = found.groups()
    for result, value in zip(results.split(", "), yielded.split(", ")):
        lines = re.sub(rf"{value}\b", result, lines)
    return lines


class Subject:
    def __init__(self, text, states):
        self.text, self.states = text, states

    def model(self, marked=True):
        text = self.text if marked else MARK.sub(without_mark, self.text)
        return tensors(re.sub(r"ON(\d)", r"pp.on \1 ->", text))


OF_NORM = ("norm.running_mean", "norm.running_var")
SUBJECTS = {"norm": Subject(NORM, OF_NORM), "region": Subject(REGION.replace("1.1428571428571428", "1.3333333333333333"), OF_NORM),  # 4 rows of 2 microbatches
            "batch_norm": Subject(BATCH_NORM, OF_NORM), "positions": Subject(POSITIONS, (*OF_NORM, "last.running_mean", "last.running_var")),
            "centre": Subject(CENTRE, ("average", "count"))}


def parameters(subject):
    random = np.random.default_rng(5)
    values = {"w": random.normal(0, 0.5, (6, 5)), "v": random.normal(0, 0.5, (5, 3))}
    if subject == "positions":
        values |= {"w": random.normal(0, 1, (2, 5)), "v": random.normal(0, 0.5, (15, 3)), "last.weight": random.normal(1, 0.2, 3),
                   "last.bias": random.normal(0, 0.2, 3), "last.running_mean": random.normal(0, 0.1, 3), "last.running_var": random.uniform(0.5, 1.5, 3)}
    if subject != "centre":
        values |= {"norm.weight": random.normal(1, 0.2, 5), "norm.bias": random.normal(0, 0.2, 5), "norm.running_mean": random.normal(0, 0.1, 5),
                   "norm.running_var": random.uniform(0.5, 1.5, 5)}
    else:
        values |= {"average": random.normal(0, 0.1, 6), "count": np.array(3.0)}
    return values


def rows(count=BATCH * STEPS, seed=7):
    random = np.random.default_rng(seed)
    return {"x": random.normal(0.5, 1, (count, 6)), "y": random.normal(0, 1, (count, 3))}
