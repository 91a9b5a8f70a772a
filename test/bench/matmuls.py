"""The rates of the small GPT's matmuls: ours, and what the machine can do."""
import json
import os
import subprocess

from runs import SMALL, compile_model, cores, priority, write_gpt

# With few rows per matmul the packing of weights shows.
PROGRAMS = {"one microbatch": ["--microbatches", "1"], "four": ["--microbatches", "4"]}


def rates(options, program, threads):
    command = [*priority(options), "taskset", "-c", ",".join(map(str, cores()[:threads])),
               os.path.join(options.build, "bin", "test", "ppopt-matmul-bench"), program, str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["matmuls"]


def measure(options, directory):
    model = write_gpt(options, directory, SMALL)
    for name, flags in PROGRAMS.items():
        for threads in (1, 2):
            executable, program = os.path.join(directory, "train"), os.path.join(directory, "program.json")
            compile_model(options, model, executable, threads, flags)
            with open(program, "w") as file:
                subprocess.run([executable, "--describe=json"], check=True, stdout=file)
            print(f"GFLOP/s, {name}, threads: {threads}\n  {'':<36} {'ours':>7} {'oneDNN':>7} {'packed':>7}")
            for matmul in rates(options, program, threads):
                print(f"  {matmul['name']:<36}" +
                      "".join(f" {matmul[key]:>7.1f}" for key in ("gflops", "onednn", "packed")) +
                      f"  {matmul['implementation']}", flush=True)
