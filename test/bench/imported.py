"""GPT-2 124M of transformers, imported from its export, beside `ppopt model gpt` of the same sizes, whose kernels it is to have."""
import collections
import json
import os
import statistics
import subprocess
import time

from runs import GPT2_124M, HERE, Failed, compile_model, ours, priority, shape_flags, write_gpt

LEAST_ROUNDS = 5
IMPORT_GOAL, GOAL = 5, 1.03  # seconds; of the step
THREADS = 2
SIDES = ("imported", "gpt")


def import_model(options, archive, model):
    """The seconds that it took."""
    begin = time.monotonic()
    subprocess.run([*priority(options), options.ppopt, "import", archive, "-o", model], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def report_program(programs):
    """Launches, kernels and matmuls of both; and kernels that one has and the other has not."""
    for side, program in programs.items():
        print(f"  {side:<9} {program['places'][0]['predicted']['launches']} launches in a step, {len(program['kernels'])} kernels, "
              f"{len(program['matmuls'])} matmuls")
    names = {side: {what: collections.Counter(each["name"] for each in program[what]) for what in ("matmuls", "kernels")}
             for side, program in programs.items()}
    for what in ("matmuls", "kernels"):
        for side, other in (SIDES, SIDES[::-1]):
            only = names[side][what] - names[other][what]
            print(f"  {what} of {side} alone: {', '.join(sorted(only.elements())) or 'none'}", flush=True)


def measure(options, directory):
    subprocess.run([options.pytorch, str(HERE / "export_gpt2.py"), directory, *shape_flags(GPT2_124M)], check=True, stderr=subprocess.DEVNULL)
    models = {"imported": os.path.join(directory, "imported.mlir"), "gpt": write_gpt(options, directory, GPT2_124M)}
    seconds = [import_model(options, os.path.join(directory, "gpt2.pt2"), models["imported"]) for _ in range(LEAST_ROUNDS)]
    print(f"  import: {min(seconds):.2f} s, median {statistics.median(seconds):.2f} s, goal {IMPORT_GOAL} s", flush=True)
    flags = {"imported": ["--init", os.path.join(directory, "imported.safetensors")], "gpt": []}
    programs, ms, losses = {}, {side: [] for side in SIDES}, {}
    for side in SIDES:
        compile_model(options, models[side], os.path.join(directory, side), THREADS, ["--no-generation"])
        described = subprocess.run([os.path.join(directory, side), "--describe=json"], check=True, capture_output=True, text=True)
        programs[side] = json.loads(described.stdout)
    report_program(programs)
    for number in range(max(LEAST_ROUNDS, options.rounds)):
        for side in SIDES if number % 2 == 0 else SIDES[::-1]:
            run = ours(options, os.path.join(directory, side), os.path.join(directory, "log.jsonl"), 1, THREADS, ["--no-shuffle", *flags[side]],
                       data=["--inputs", os.path.join(directory, f"{side}_data.safetensors")])
            ms[side] += run.ms
            losses[side] = run.losses[0]
    if abs(losses["imported"] - losses["gpt"]) > 0.2:
        raise Failed(f"the first losses differ, these are not the same models: {losses}")
    for side in SIDES:
        print(f"  {side:<9} step {min(ms[side]):.0f} ms, median {statistics.median(ms[side]):.0f} ms")
    least, median = (of(ms["imported"]) / of(ms["gpt"]) for of in (min, statistics.median))
    print(f"  ratio {least:.3f}, of medians {median:.3f}, goal {GOAL}", flush=True)
