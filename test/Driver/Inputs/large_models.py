"""Writes models that are too large in one way: large_models.py KIND COUNT."""
import sys

TYPE = "tensor<4x3xf32>"


def entry(body, value):
    print(f'func.func @main(%x: {TYPE} {{pp.input = "x"}}) -> tensor<f32> {{\n'
          f'  %w = pp.param "w" {{init = #pp.init<ones>}} : tensor<3xf32>\n  %v0 = pp.mul %x, %w : {TYPE}, tensor<3xf32>')
    for line in body:
        print("  " + line)
    print(f"  %l = pp.reduce sum {value} [0, 1] : {TYPE}\n  return %l : tensor<f32>\n}}")


def chain(count):
    """So many ops, each of the one before."""
    entry([f"%v{i + 1} = pp.tanh %v{i} : {TYPE}" for i in range(count)], f"%v{count}")


def calls(count):
    """Functions that call the one before twice: 2 ** count calls."""
    print(f"func.func private @f0(%x: {TYPE}) -> {TYPE} {{\n  return %x : {TYPE}\n}}")
    for i in range(1, count + 1):
        call = f"func.call @f{i - 1}"
        print(f"func.func private @f{i}(%x: {TYPE}) -> {TYPE} {{\n  %y = {call}(%x) : ({TYPE}) -> {TYPE}\n"
              f"  %z = {call}(%y) : ({TYPE}) -> {TYPE}\n  return %z : {TYPE}\n}}")
    entry([f"%y = func.call @f{count}(%v0) : ({TYPE}) -> {TYPE}"], "%y")


def modules(count):
    print("module {\n" * count + "}\n" * count)


def brackets(count):
    print("func.func @main() attributes {a = " + "[" * count + "]" * count + "} {\n}")


{"chain": chain, "calls": calls, "modules": modules, "brackets": brackets}[sys.argv[1]](int(sys.argv[2]))
