"""What blocks of the logits cost: a one-layer GPT with GPT-2's head, in blocks of 64 MiB and whole."""
import os

from runs import compile_model, ours, write_gpt

SHAPE = (1, 768, 12, 50257, 1024, 1)  # runs.SHAPE
SIDES = {"64 MiB": ["--block-bytes", "64MiB"], "whole": ["--block-bytes", "unlimited"]}
LEAST_ROUNDS = 5
GOAL = 1.03


def measure(options, directory):
    model = write_gpt(options, directory, SHAPE)
    for threads in (1, 2):
        least, peak = dict.fromkeys(SIDES, float("inf")), {}
        for side, flags in SIDES.items():
            compile_model(options, model, os.path.join(directory, f"train {side}"), threads, flags)
        for _ in range(max(LEAST_ROUNDS, options.rounds)):
            for side in SIDES:
                run = ours(options, os.path.join(directory, f"train {side}"), os.path.join(directory, "log.jsonl"), 1, threads)
                least[side], peak[side] = min(least[side], *run.ms), run.peak
        blocks, whole = (least[side] for side in SIDES)
        memory = ", ".join(f"{side} {peak[side] / 2**20:.0f} MiB" for side in SIDES)
        print(f"  threads {threads}: {blocks:.0f} ms in blocks, {whole:.0f} ms whole: {blocks / whole:.3f}, goal {GOAL}; peak {memory}",
              flush=True)
