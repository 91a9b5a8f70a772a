"""check_profile.py LOG PROGRAM: holds the profile in a log to the steps that it was taken from and to the program's document."""

import json
import math
import sys


def main():
    with open(sys.argv[1]) as file:
        records = [json.loads(line) for line in file]
    with open(sys.argv[2]) as file:
        program = json.load(file)
    (head,) = [record for record in records if record["event"] == "profile"]
    lines = [record for record in records if record["event"] == "profile_line"]
    steps = [record for record in records if record["event"] == "step"]
    assert head["steps"] == len(steps) - 1
    assert head["machine_gflops"] > 0 and head["machine_gbytes"] > 0

    total = sum(line["ms_per_step"] for line in lines)
    assert math.isclose(total, head["ms_per_step"], rel_tol=1e-6), (total, head)
    mean = sum(step["ms"] for step in steps[1:]) / head["steps"]
    assert head["ms_per_step"] <= mean + 1e-3, (head, mean)

    launches = [line for line in lines if line["kind"] in ("kernel", "matmul")]
    assert sum(line["calls_per_step"] for line in launches) == steps[-1]["launches"]

    # A rate is what the document says of a launch, by the time that it took.
    works = {kernel["name"]: kernel["bytes"] for kernel in program["kernels"]}
    works.update({matmul["name"]: 2 * matmul["m"] * matmul["n"] * matmul["k"] for matmul in program["matmuls"]})
    for line in launches:
        rate = line["gflops" if line["kind"] == "matmul" else "gbytes"]
        work = works[line["name"]] * line["calls_per_step"]
        assert math.isclose(rate, work / line["ms_per_step"] / 1e6, rel_tol=1e-6), line


main()
