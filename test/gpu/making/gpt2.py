"""GPT-2 124M in bf16 at several batches, and the tokens that it trains on."""
import array
import math
import os
import random

from making.compiler import compile_cuda, make_gpt, predictions
from making.folder import in_parallel

FLAGS = ["--precision", "bf16"]
PRESET = {"layers": 12, "width": 768, "heads": 12, "vocab": 50257, "seq": 1024}
BATCHES = [8, 16, 64]
TINY = {"layers": 2, "width": 48, "heads": 2, "vocab": 259, "seq": 40}
TINY_BATCHES = [2, 4]
BATCHES_OF_TOKENS = 4  # of the largest batch


def draw_tokens(vocab, count):
    """Token k has a frequency of 1/(k + 1), as words of a language. Written as uint16."""
    generator = random.Random(1)
    tokens = generator.choices(range(vocab), [1 / (k + 1) for k in range(vocab)], k=count)
    return array.array("H", tokens).tobytes()


def shape_of(folder):
    return TINY if folder.tiny else PRESET


def sizes_of(shape):
    """As flags of `ppopt model gpt`."""
    return [word for name, size in shape.items() for word in (f"--{name}", str(size))]


def add_gpt2(folder, ppopt, directory):
    shape, batches = shape_of(folder), TINY_BATCHES if folder.tiny else BATCHES
    sizes = sizes_of(shape)
    tokens = os.path.join(directory, "tokens.bin")
    with open(tokens, "wb") as file:
        file.write(draw_tokens(shape["vocab"], BATCHES_OF_TOKENS * batches[-1] * shape["seq"] + 1))
    entry = {"shape": shape, "tokens": folder.add(tokens, "gpt2/tokens.bin"), "batches": {}}
    def add(batch):
        model = make_gpt(ppopt, os.path.join(directory, f"gpt2_{batch}.mlir"), [*sizes, "--batch", str(batch)])
        executable = compile_cuda(ppopt, model, os.path.join(directory, f"gpt2_{batch}"), FLAGS)
        folder.add_executable(f"gpt2_{batch}", executable.path)
        entry["batches"][str(batch)] = {"executable": f"gpt2_{batch}", "rows": batch, "predictions": predictions(ppopt, model, FLAGS),
                                        "parameters": sum(math.prod(each["shape"]) for each in executable.program["parameters"])}
    in_parallel(add, batches)
    entry["batches"] = {str(batch): entry["batches"][str(batch)] for batch in batches}
    folder.manifest["gpt2"] = entry

