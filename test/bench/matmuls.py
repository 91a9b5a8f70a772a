"""The rates of the matmuls of the small GPT and the 124M: ours, and what the machine can do."""
import json
import os
import subprocess

from runs import GPT2_124M, SMALL, compile_model, cores, priority, write_gpt

# With few rows per matmul the packing of weights shows.
PROGRAMS = {"small": (SMALL, "1"), "small, four microbatches": (SMALL, "4"), "124M": (GPT2_124M, "1")}
GOAL = 0.93


def rates(options, program, threads):
    command = [*priority(options), "taskset", "-c", ",".join(map(str, cores()[:threads])),
               os.path.join(options.build, "bin", "test", "ppopt-matmul-bench"), program, str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["matmuls"]


def measure(options, directory):
    for name, (shape, microbatches) in PROGRAMS.items():
        model = write_gpt(options, directory, shape)
        for threads in (1, 2):
            executable, program = os.path.join(directory, "train"), os.path.join(directory, "program.json")
            compile_model(options, model, executable, threads, ["--microbatches", microbatches])
            with open(program, "w") as file:
                subprocess.run([executable, "--describe=json"], check=True, stdout=file)
            print(f"GFLOP/s, {name}, threads: {threads}\n  {'':<36} {'ours':>7} {'oneDNN':>7} {'packed':>7} {'share':>6}")
            below = 0
            # The best of each in several rounds: other programs, and other machines on the same host, slow some down.
            rounds = [rates(options, program, threads) for _ in range(options.rounds)]
            for several in zip(*rounds):
                matmul = dict(several[0], **{key: max(each[key] for each in several) for key in ("gflops", "onednn", "packed")})
                share = matmul["packed"] and matmul["gflops"] / matmul["packed"]
                below += 0 < share < GOAL
                print(f"  {matmul['name']:<36}" +
                      "".join(f" {matmul[key]:>7.1f}" for key in ("gflops", "onednn", "packed")) +
                      f" {share:>6.2f}  {matmul['implementation']}", flush=True)
            print(f"  below {GOAL} of the packed rate: {below}", flush=True)
