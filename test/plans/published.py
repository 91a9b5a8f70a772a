#!/usr/bin/python3
"""Prints what `ppopt plan` predicts for plans whose throughput others have published, beside their figures.

    PYTHONPATH=test test/plans/published.py --build build/release [--only 1008]

GPTs: Narayanan et al. 2021 (arXiv 2104.04473), table 1; microbatches and chunks as in NVIDIA/Megatron-LM, examples/sc21/run_table_1.sh.
Dropout is what Megatron-LM has where a script gives none: 0.1, that of attention's probabilities too, so their scores are in memory.
Llama 3 405B: arXiv 2407.21783, table 4, without the row with context parallelism, which this version does not have.
Rates are those of the device (docs/devices.md) and the cluster (docs/clusters.md); none was fitted to a row.

The last column is the error if sums over tp were as in Megatron-LM of 2021: those of a layer's forward are computed again in the
backward, and no sum is hidden. No flag of ppopt asks for that, so their times are added to the step here.
"""
import argparse
import dataclasses
import os
import re
import subprocess
import tempfile

from support.printed_times import predicted_step, to_seconds

MEGATRON = ("h.*.attn.qkv.weight=[{}, {3 * tp}]; h.*.attn.proj.weight=[{tp}, {}]; h.*.mlp.fc.weight=[{}, {tp}]; "
            "h.*.mlp.proj.weight=[{tp}, {}]; wte=[{tp}, {}]")
VOCABULARY = "lm_head.weight=[{tp}, {}]; model.embed_tokens.weight=[{tp}, {}]"
DROPOUT = ["--dropout", 0.1, "--attention-dropout", 0.1]
MACHINE = ["--target", "cuda", "--precision", "bf16"]
BESIDES = 1 - 24 / 108  # the rate of an A100's launches beside a collective


@dataclasses.dataclass
class Row:
    name: str
    model: list
    layers: int
    width: int
    seq: int
    vocabulary: int
    batch: int
    places: int
    parts: int  # of tp
    ranks: int
    rows: int  # of a microbatch
    chunks: int
    published: float  # TFLOP/s per GPU
    flags: list

    @property
    def replicas(self):
        return self.ranks // self.places // self.parts

    @property
    def microbatches(self):
        return self.batch // self.replicas // self.rows


def gpt(name, heads, width, layers, parts, places, ranks, batch, rows, chunks, published):
    return Row(f"GPT {name}", ["gpt", "--heads", heads, "--vocab", 51200, *DROPOUT], layers, width, 2048, 51200, batch, places, parts, ranks,
               rows, chunks, published,
               ["--gpu", "sm_80", "--cluster", "dgx-a100", "--recompute", "layer", *(["--shard", MEGATRON] if parts > 1 else [])])


def llama(name, ranks, published):
    return Row(f"Llama 3 405B, {name}", ["llama", "--preset", "70b", "--heads", 128, "--kv-heads", 8, "--head-width", 128,
                                         "--mlp-width", 53248], 126, 16384, 8192, 128256, 2048, 16, 8, ranks, 1, 8, published,
               ["--gpu", "sm_90a", "--cluster", "hgx-h100-400g", "--recompute", "none", "--zero", 1, "--shard", VOCABULARY])


ROWS = [gpt("1.7B", 24, 2304, 24, 1, 1, 32, 512, 16, 1, 137),
        gpt("3.6B", 32, 3072, 30, 2, 1, 64, 512, 16, 1, 138),
        gpt("7.5B", 32, 4096, 36, 4, 1, 128, 512, 16, 1, 142),
        gpt("18.4B", 48, 6144, 40, 8, 1, 256, 1024, 8, 1, 135),
        gpt("39.1B", 64, 8192, 48, 8, 2, 512, 1536, 4, 1, 138),
        gpt("76.1B", 80, 10240, 60, 8, 4, 1024, 1792, 2, 3, 140),
        gpt("145.6B", 96, 12288, 80, 8, 8, 1536, 2304, 2, 2, 148),
        gpt("310.1B", 128, 16384, 96, 8, 16, 1920, 2160, 1, 2, 155),
        gpt("529.6B", 128, 20480, 105, 8, 35, 2520, 2520, 1, 3, 163),
        gpt("1008.0B", 160, 25600, 128, 8, 64, 3072, 3072, 1, 1, 163),
        llama("8,192 GPUs", 8192, 430),
        llama("16,384 GPUs", 16384, 400)]


def count_flops(row):
    """The FLOPs of a step as the papers count them: attention in full and what is recomputed in the first, the
    visible half of attention in the second."""
    tokens = row.batch * row.seq
    if row.model[0] == "gpt":
        return 96 * tokens * row.layers * row.width**2 * (1 + row.seq / (6 * row.width) + row.vocabulary / (16 * row.layers * row.width))
    matrices = row.layers * (row.width**2 * (2 + 2 / 16) + 3 * row.width * 53248) + row.width * row.vocabulary
    return tokens * (6 * matrices + 6 * row.layers * row.seq * row.width)


def count_sums(row, printed):
    """The seconds that a step takes longer with the sums over tp of Megatron-LM of 2021."""
    of_places = [0.0] * row.places
    sums = r"^  s(\d+)_([FB]) +sum over tp .* hidden (\S+ \w+), exposed (\S+ \w+)  pp\.matmul"
    for stage, task, hidden, exposed in re.findall(sums, printed, re.M):
        of_places[int(stage) % row.places] += to_seconds(exposed) if task == "F" else BESIDES * to_seconds(hidden)
    return max(of_places) * (row.microbatches + (row.places - 1) / row.chunks)


def write_model(ppopt, row, directory):
    model = os.path.join(directory, "model.mlir")
    subprocess.run([ppopt, "model", *map(str, row.model), "--layers", str(row.layers), "--width", str(row.width), "--seq", str(row.seq),
                    "--batch", str(row.batch), "-o", model], check=True)
    return model


def flags_of(row):
    """The flags of the row's plan, those that say how it is split first."""
    mesh = [f"{axis}={size}" for axis, size in (("pp", row.places), ("dp", row.replicas), ("tp", row.parts)) if size > 1]
    schedule = ["--schedule", "interleaved", "--chunks", str(row.chunks)] if row.chunks > 1 else []
    return ["--mesh", ",".join(mesh), "--microbatches", str(row.microbatches), *schedule, *MACHINE, *map(str, row.flags)]


def plan(ppopt, row, directory):
    """Returns the predicted seconds of a step, and those that the sums of Megatron-LM add."""
    done = subprocess.run([ppopt, "plan", write_model(ppopt, row, directory), *flags_of(row)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{row.name}: {done.stderr}")
    return predicted_step(done.stdout), count_sums(row, done.stdout) if row.model[0] == "gpt" else 0.0


def predict(ppopt, rows):
    """Yields the lines of the table."""
    yield "| model | tp | pp | GPUs | batch | step, s | predicted | published | error | with their sums |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as directory:
        for row in rows:
            seconds, sums = plan(ppopt, row, directory)
            rate, with_sums = (count_flops(row) / time / row.ranks / 1e12 for time in (seconds, seconds + sums))
            yield (f"| {row.name} | {row.parts} | {row.places} | {row.ranks:,} | {row.batch:,} | {seconds:.3g} | {rate:.0f} | "
                   f"{row.published} | {100 * (rate / row.published - 1):+.0f} % | {100 * (with_sums / row.published - 1):+.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose name has this")
    options = parser.parse_args()
    for line in predict(os.path.join(options.build, "bin/ppopt"), [row for row in ROWS if options.only in row.name]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
