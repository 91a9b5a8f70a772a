"""small_stacks.py PROGRAM... DATA: each trains two steps, whatever environment and limits say of stacks."""
import os
import resource
import subprocess
import sys

*programs, data = sys.argv[1:]
KIB = 1024


def limits(stack):
    if stack:
        resource.setrlimit(resource.RLIMIT_STACK, (stack * KIB, stack * KIB))


for program in programs:
    for variables, stack in (({"OMP_STACKSIZE": "64k"}, None), ({"OMP_STACKSIZE": "16k"}, None), ({"GOMP_STACKSIZE": "16"}, None),
                             ({"OMP_STACKSIZE": "a lot"}, None), ({}, 100), ({"OMP_STACKSIZE": "64k", "GOMP_SPINCOUNT": "5"}, 100)):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run([program, "--data", data, "--steps", "2"], env=dict(environment, **variables), capture_output=True, text=True,
                              timeout=120, preexec_fn=lambda: limits(stack))
        assert done.returncode == 0, (program, variables, stack, done.returncode, done.stderr)
