"""Random models with repeats, and the same written out: after the same passes they are one text.

usage: random_repeats.py PPOPT COUNT
"""

import random
import subprocess
import sys
import tempfile


class Writer:
    """Writes a model twice at once: `short` with repeats, `long` without. A value is its name in both."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.type = "tensor<4x8xf32>"

    def name(self):
        self.names += 1
        return f"%v{self.names}"

    def draw(self, depth, indices):
        """A random body as a tree: ("op", text), ("param", name), ("each", index, values), ("call", callee), ("on", place, body), ("repeat", …)."""
        body = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.choice(["neg", "dropout", "param", "call", "each", "random"] + ["on", "repeat", "repeat"] * (depth < 3))
            if kind == "each" and indices:
                index, count = self.random.choice(indices)
                body.append(("each", index, [round(self.random.uniform(-2, 2), 3) for _ in range(count)]))
            elif kind == "on":
                body.append(("on", self.random.randint(0, 1), self.draw(depth + 1, indices)))
            elif kind == "repeat":
                index, count = "ijkl"[depth], self.random.choice([1, 2, 2, 3])
                body.append(("repeat", index, count, self.draw(depth + 1, indices + [(index, count)])))
            elif kind == "param":
                self.names += 1
                body.append(("param", ".".join([f"p{self.names}"] + ["{%s}" % index for index, _ in indices])))
            elif kind != "each":
                body.append((kind,))
        return body

    def op(self, step, x, y, number, inside):
        """One op that makes `y` of `x`; `number` says which iteration each index is at."""
        t = self.type
        kind = step[0]
        if kind == "neg":
            return [f"{y} = pp.neg {x} : {t}"]
        if kind == "dropout":
            return [f"{y} = pp.dropout {x} {{p = 0.25 : f64}} : {t}"]
        if kind == "random":
            return [f"{y}r = pp.random normal -> {t}", f"{y} = pp.add {x}, {y}r : {t}, {t}"]
        if kind == "call":
            return [f"{y} = func.call @layer({x}) : ({t}) -> {t}"]
        if kind == "param":
            name = step[1]
            for index, at in number.items():
                name = name.replace("{%s}" % index, str(at))
            return [f'{y}p = pp.param "{name}" {{init = #pp.init<ones>}} : tensor<8xf32>', f"{y} = pp.mul {x}, {y}p : {t}, tensor<8xf32>"]
        index, values = step[1:]
        constant = (f"pp.constant dense<{values[number[index]]}> : tensor<f32>" if index in number else
                    f'pp.each {"" if index == "i" else chr(34) + index + chr(34) + " "}dense<{values}> : tensor<{len(values)}xf32>')
        return [f"{y}c = {constant}", f"{y} = pp.mul {x}, {y}c : {t}, tensor<f32>"]

    def write(self, body, x, number, lines, unrolls):
        t = self.type
        for step in body:
            if step[0] == "on":
                y = self.name()
                lines.append(f"{y} = pp.on {step[1]} -> {t} {{")
                lines.append(f"pp.yield {self.write(step[2], x, number, lines, unrolls)} : {t}")
                lines.append("}")
            elif step[0] == "repeat" and unrolls:
                y = x
                for i in range(step[2]):
                    y = self.write(step[3], y, {**number, step[1]: i}, lines, unrolls)
            elif step[0] == "repeat":
                y, h = self.name(), self.name()
                index = "" if step[1] == "i" else f'index "{step[1]}" '
                lines.append(f"{y} = pp.repeat {step[2]} {index}iter ({h} = {x}) -> ({t}) {{")
                lines.append(f"pp.yield {self.write(step[3], h, number, lines, unrolls)} : {t}")
                lines.append("}")
            else:
                y = self.name()
                lines += self.op(step, x, y, number, None)
            x = y
        return x

    def model(self, body, inner, unrolls):
        t = self.type
        lines = [f"func.func private @layer(%x: {t}) -> {t} {{"]
        lines.append(f"return {self.write(inner, '%x', {}, lines, unrolls)} : {t}\n}}")
        lines.append(f'func.func @main(%x: {t} {{pp.input = "x"}}) -> tensor<f32> {{')
        last = self.write(body, "%x", {}, lines, unrolls)
        lines.append(f"%loss = pp.reduce mean {last} [0, 1] : {t}\nreturn %loss : tensor<f32>\n}}")
        return "\n".join(lines) + "\n"


def no_leaves(body):
    """Functions that are called have no parameters and call nothing."""
    return [(*step[:-1], no_leaves(step[-1])) if step[0] in ("on", "repeat") else step for step in body if step[0] not in ("param", "call")]


def run(ppopt, texts, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write("// -----\n".join(texts))
        file.flush()
        return subprocess.run([ppopt, "opt", "--split-input-file", file.name, *flags], check=True, stdout=subprocess.PIPE, text=True).stdout.split("// -----\n")


def main(ppopt, count):
    short, long = [], []
    for seed in range(int(count)):
        writer = Writer(seed)
        # The function is called at least once.
        body, inner = writer.draw(0, []) + [("call",)], no_leaves(writer.draw(1, []))
        short.append(writer.model(body, inner, False))
        long.append(writer.model(body, inner, True))
    repeats = sum("pp.repeat" in text for text in short)
    for flags in ([], ["--pp-verify-model"], ["--pp-inline-calls"]):
        found, expected = run(ppopt, short, "--pp-unroll-repeats", *flags), run(ppopt, long, *flags)
        for seed, (one, other) in enumerate(zip(found, expected)):
            if one != other:
                print(f"seed {seed} {flags}:\n{short[seed]}\nunrolled:\n{one}\nwritten out:\n{other}")
                return 1
        draws = [line.split("stream")[1].split(":")[0] for text in found for line in text.split("\n") if "stream" in line]
    print(f"{repeats} models with repeats equal those that are written out; {len(draws)} draws")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
