"""Programs of texts, and evaluations of all or some rows of their initial parameters."""
import json
import os
import re

from support.executable import checked, compile_model


def compile_text(ppopt, directory, name, text, flags):
    path = os.path.join(directory, re.sub(r"\W+", "-", name))
    with open(path + ".mlir", "w", encoding="utf8") as file:
        file.write(text)
    return compile_model(ppopt, path + ".mlir", path, ["--threads", "1", *flags])


def evaluate(program, init, data, flags=(), launch=()):
    """(the event, the output) of an evaluation of the parameters `init` over the rows of `data`, both paths."""
    log = program.path + ".jsonl"
    if os.path.exists(log):
        os.remove(log)
    done = checked([*launch, program.path, "--init", init, "--steps", "0", "--eval-inputs", data, "--log", log, *flags])
    with open(log, encoding="utf8") as file:
        [event] = [e for e in map(json.loads, file) if e["event"] == "eval"]
    return event, done.stdout
