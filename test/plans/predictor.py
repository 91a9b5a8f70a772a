"""Plans of a model, predicted by the thousand: ppopt-predict-plans and its search, as Python."""
import itertools
import json
import os
import shlex
import subprocess

WAYS = [("1f1b", []), ("interleaved", ["--chunks", "2"]), ("interleaved", ["--chunks", "4"]), ("zb-h1", []), ("zb-v", []), ("dualpipe-v", [])]
RECOMPUTES = ("none", "cheap", "layer")
# On one machine the first order stands for all of them.
AXES = [("pp", "dp", "fsdp", "tp"), ("dp", "pp", "fsdp", "tp"), ("dp", "fsdp", "pp", "tp")]


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def meshes(ranks):
    """All sizes of the four axes."""
    return [sizes for sizes in itertools.product(divisors(ranks), repeat=4) if sizes[0] * sizes[1] * sizes[2] * sizes[3] == ranks]


def every_plan(ranks, batch, shard=(), recomputes=RECOMPUTES, ways=WAYS, zeros=(0, 1, 2, 3), counts=None, kept=None, orders=AXES[:1]):
    """The flags of each plan, also of those that are the same under two names. It knows nothing of how the search enumerates. `shard`: flags of
    plans with tp. `kept`: sizes of axes. `orders`: of the axes, from major to minor."""
    for sizes, order in itertools.product(meshes(ranks), orders):
        axes = dict(zip(AXES[0], sizes))
        parts = axes["dp"] * axes["fsdp"]
        if batch % parts or any(axes[axis] != size for axis, size in (kept or {}).items()):
            continue
        mesh = ["--mesh", ",".join(f"{axis}={axes[axis]}" for axis in order), *(shard if axes["tp"] > 1 else [])]
        for zero, count, recompute in itertools.product(zeros, divisors(batch // parts), recomputes):
            if (zero and parts == 1 and len(zeros) > 1) or (counts and count not in counts):
                continue
            for name, chunks in ways if axes["pp"] > 1 or len(ways) == 1 else [("1f1b", [])]:
                yield [*mesh, "--zero", str(zero), "--microbatches", str(count), "--recompute", recompute, "--schedule", name, *chunks]


class Predictor:
    """Predicts plans of the model in a file, all with `flags`. `planted`: a bug (CMakeLists.txt)."""

    def __init__(self, build, path, flags, planted=None):
        self.tool = os.path.join(build, "bin", "test", "ppopt-predict-plans" + ("-planted" if planted else ""))
        self.path, self.flags = path, list(flags)
        self.environment = dict(os.environ, **({"PLANTED": planted} if planted else {}))

    def _run(self, flags, text=""):
        done = subprocess.run([self.tool, self.path, *self.flags, *flags], input=text, capture_output=True, text=True, env=self.environment)
        assert done.returncode == 0, f"{' '.join(done.args)}: {done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def predict(self, plans, *flags):
        """{"step", "memory"} or {"refused"} of each; with --verified, all verifiers run over it, as `ppopt plan` does for the choice."""
        plans = list(plans)
        predicted = self._run(flags, "".join("\t".join(plan) + "\n" for plan in plans))
        assert len(predicted) == len(plans), self.path
        return predicted

    def choose(self, ranks, *flags):
        """{"flags", "step", "memory", "gap"}, without "flags" if none fits."""
        [choice] = self._run(["--plan", "auto", "--ranks", str(ranks), *flags])
        if "flags" in choice:
            choice["flags"] = shlex.split(choice["flags"])
        return choice

    def points(self, ranks, *flags):
        """Of each point of the search's space, {"flags", "bounds"} and what predict says."""
        return self._run(["--plan", "auto", "--ranks", str(ranks), "--points", *flags])
