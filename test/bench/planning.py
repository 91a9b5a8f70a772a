"""How planning grows with stages and microbatches: the seconds of `ppopt plan`, proof included."""
import os
import subprocess
import time

STAGES = (8, 16, 32, 64)
MICROBATCHES = (4, 64, 256)
STAGES_A_PLACE = {"gpipe": 1, "1f1b": 1, "zb-h1": 1, "interleaved": 2, "zb-v": 2, "dualpipe-v": 2}


def plan(options, model, schedule, stages, microbatches):
    places = stages // STAGES_A_PLACE.get(schedule, 1)
    begin = time.monotonic()
    subprocess.run([options.ppopt, "plan", model, "--mesh", f"pp={places}", "--schedule", schedule, "--microbatches",
                    str(microbatches), "--threads", "1"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def measure(options, directory):
    print("seconds of ppopt plan: a GPT with a layer for each stage, a row for each of 256 microbatches")
    print(f"  {'':<12} {'stages':>6}" + "".join(f" {f'm={count}':>8}" for count in MICROBATCHES), flush=True)
    models = {stages: os.path.join(directory, f"gpt{stages}.mlir") for stages in STAGES}
    for stages, path in models.items():
        subprocess.run([options.ppopt, "model", "gpt", "--layers", str(stages), "--width", "32", "--heads", "2", "--vocab", "64",
                        "--seq", "16", "--batch", "256", "-o", path], check=True)
    for schedule in ("naive", *STAGES_A_PLACE):
        for stages, path in models.items():
            print(f"  {schedule:<12} {stages:>6}", end="", flush=True)
            for count in (1,) if schedule == "naive" else MICROBATCHES:
                label = "  (m=1)" if schedule == "naive" else ""
                print(f" {plan(options, path, schedule, stages, count):>8.2f}{label}", end="", flush=True)
            print(flush=True)
