"""Modules as JSON, from the compiler's passes."""
import json
import os
import shlex
import subprocess

from interpreter import Module
from support.mutations import tool_of

# For meshes that the command line does not take.
TRAIN = "--test-phase-train={plan}"
SHARD = "--pp-shard"
PRINT = "--test-print-json"
# Of messages that no model deserves: a verifier that refuses what a pass made, and flags that are none.
INTERNAL = ("failed to verify", "unknown flag")


class Refused(Exception):
    """The compiler's error, in one line."""


def print_modules(ppopt, path, *passes):
    """The modules where `passes` print."""
    command = [tool_of(ppopt), "opt", path, *passes, "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 0:
        return [Module(json.loads(line)) for line in done.stdout.splitlines()]
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    if done.returncode < 0 or not errors or any(text in errors[0] for text in INTERNAL):
        told = done.stderr.split("PLEASE submit")[0].strip()
        raise AssertionError(f"{shlex.join(command)}: exit status {done.returncode}\n{told}")
    raise Refused(errors[0].split("error: ", 1)[1])


def print_trained(ppopt, path, plan, *passes):
    """The same of a model that is brought to phase train first. `plan`: mesh and microbatches."""
    return print_modules(ppopt, path, TRAIN.format(plan=plan), *passes)
