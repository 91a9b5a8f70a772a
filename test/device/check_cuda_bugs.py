#!/usr/bin/env python3
"""Puts bugs into programs for GPUs and into the libraries under them: each must be found, and named by its action and stream.

The libraries are those of test/device/fake. For races the fake device (docs/adding-a-device.md) wraps the GPU: it knows the order that streams and
events give, and the bytes of each operation, those of NCCL included."""
import functools
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "equivalence")]
from support.executable import checked  # noqa: E402
from support.results import Harness  # noqa: E402

import check_fake  # noqa: E402
import stage_plans  # noqa: E402
from check_cuda import PIPELINE, CudaPrograms, Fake, MatmulPlan, check_same_gpu  # noqa: E402
from programs import expect_same_bits, run_flags  # noqa: E402
from stage_plans import StagePlan  # noqa: E402

RUN = "sgd clipped"
MOST_WAITS = 12  # that are left out
STREAMS = r"of stream '(compute|communication)'"
RACE = re.compile(rf"race: .* \(operation \d+ {STREAMS}\) .* \(operation \d+ {STREAMS}\)")
# A mutation, a model, a plan: memory that is used again too early, where another stream still reads or writes it.
TOO_EARLY = [("slot-too-early", "feeds", StagePlan(2, 8)),
             ("read-before-finish", "lm", StagePlan(1, 1, 2, zero=3, bucket_bytes="200"))]


def failure_of(run):
    """What a run fails with; None if it does not."""
    try:
        run()
    except AssertionError as failure:
        return str(failure)
    return None


def expect_failure(failure, pattern):
    assert failure, "the bug is not seen"
    found = re.search(pattern, failure)
    assert found, failure
    print("  " + next(line for line in failure.splitlines() if found.group().splitlines()[0] in line)[:300], flush=True)


class Wrapped:
    """Programs whose GPUs are wrapped by the fake device."""

    def __init__(self, programs, fake, wrapper):
        self.programs, self.fake, self.wrapper = programs, fake, wrapper

    def train(self, model, plan, run_name, seed, name="wrapped", mutation=None, **others):
        return self.programs.train(self.fake, model, plan, run_name, seed=seed, name=name, mutation=mutation, **self.wrapper.variables(seed, **others))


def check_left_out_waits(wrapped, directory):
    """Each wait for an event that is left out is a race, or others imply it and the bits are the same."""
    report = os.path.join(directory, "waits.jsonl")
    good = wrapped.train("gpt", PIPELINE, RUN, 1, PPOPT_FAKE_REPORT=report)
    expect_same_bits(good, wrapped.programs.train(wrapped.fake, "gpt", PIPELINE, RUN, seed=1), "with and without the fake device")
    waits = int(re.search(r'"waits": (\d+)', pathlib.Path(report).read_text()).group(1))
    numbers = sorted(set(np.linspace(1, waits, min(waits, MOST_WAITS)).astype(int).tolist()))
    races = 0
    for number in numbers:
        result = []
        failure = failure_of(lambda: result.append(wrapped.train("gpt", PIPELINE, RUN, 1, f"without{number}", PPOPT_FAKE_PLANT=f"drop-wait:{number}")))
        if failure:
            assert RACE.search(failure), failure
            races += 1
        else:
            expect_same_bits(result[0], good, f"without wait {number} and with it")
    print(f"  {races} of {len(numbers)} waits that were left out are races", flush=True)
    assert races >= len(numbers) // 4, "hardly any wait is needed"


def check_too_early(wrapped, mutation, model, plan):
    wrapped.train(model, plan, RUN, 2)
    expect_failure(failure_of(lambda: wrapped.train(model, plan, RUN, 2, mutation=mutation)), RACE)


def check_other_order(programs, fake):
    """Two operations of NCCL that a rank calls in another order than its peers: the library sees it, or a rank waits until its --timeout. (Nobody sees that
    two transfers of as many bytes to one rank change places: the receiver has one for the other.)"""
    library = r"fake CUDA: communicator \d+: .*nccl\w+ of .*\(operation \d+ of stream \d+ of GPU \d+\)"
    watch = r"waits \d+\.\d s.*: (send|recv|the sum of|the all-gather of|the reduce-scatter of)"
    for gpu, number, seen in ((0, 1, library), (1, 5, watch), (2, 4, watch)):
        expect_failure(failure_of(lambda: programs.train(
            fake, "gpt", PIPELINE, RUN, seed=1, name=f"swapped{gpu}_{number}", flags=["--timeout", "8"],
            PPOPT_FAKE_CUDA="count=4,memory=1GiB,connect=early", PPOPT_FAKE_CUDA_PLANT=f"swap-nccl:{gpu}:{number}")), seen)


def check_host_read(programs, fake):
    """The host reads what a kernel works on, within a step."""
    failure = failure_of(lambda: programs.train(fake, "gpt", PIPELINE, RUN, seed=1, name="read", PPOPT_FAKE_CUDA_PLANT="host-read:40"))
    expect_failure(failure, r"(?s)status 86.*the host .*GPU \d+.*(launch of kernel|operation \d+ of stream)")


def decision_kernels(programs, plan):
    """The kernels of the tasks that decide about updates."""
    model = programs.model_file("gpt", plan)
    kernels = os.path.join(programs.directory, "decision.mlir")
    checked([programs.ppopt, "compile", model, *plan.flags, "--threads", "1", *run_flags(RUN)[0], "--target", "cuda", "--no-generation",
             "--stop-after=kernels", "-o", kernels])
    text = pathlib.Path(kernels).read_text()
    tasks = re.findall(r"pp\.task decide.*?\n  }", text, re.S)
    return sorted({name for task in tasks for name in re.findall(r"pp\.launch @(\w+)", task)})


def check_missed_hold(programs, fake):
    """One rank does not learn what the others decide about a step's updates."""
    plan = MatmulPlan(StagePlan(1, 1, 2), "library")
    names = decision_kernels(programs, plan)
    assert names, "no task decides"
    for name in names:
        failure = failure_of(lambda: programs.train(fake, "gpt", plan.plan, RUN, seed=1, name=f"without {name}",
                                                    PPOPT_FAKE_CUDA_PLANT=f"drop-launch:{name}:1"))
        expect_failure(failure, r"step 1, rank 1: .*task \w+, on stream 'compute', decided that updates")


def check_unseen_uuids(programs, fake):
    """Two ranks whose GPU has another UUID for each: they share it unasked, and the test that expects a refusal fails by what NCCL says."""
    failure = failure_of(lambda: check_same_gpu(programs, fake, PPOPT_FAKE_CUDA_PLANT="own-uuid:1"))
    expect_failure(failure, "Duplicate GPU detected: rank 0 and rank 1 are both on")


def errors_of(failure):
    assert failure, "the run ends well"
    return re.findall(r"(?:^|status \d+: )(error: .*)", failure, re.M)


def check_failing_thread(programs, fake, directory):
    """A rank fails in step 2 of 3 and others wait for it on their GPUs, where operations of one communicator wait in a stream for those of another one. All
    end, with the reason. If each communicator is aborted by itself, the library waits for ever."""
    def train(name, *plants, **others):
        return programs.train(fake, "gpt", PIPELINE, RUN, seed=1, name=name, PPOPT_FAKE_CUDA_PLANT=",".join(plants), **others)
    report = os.path.join(directory, "launches.jsonl")
    train("complete", PPOPT_FAKE_CUDA_REPORT=report)
    (calls,) = count_calls(report)
    # Which rank fails depends on threads, and so does whether the others have come to their step 2.
    for share in (0.5, 0.45, 0.55, 0.4):
        fails = f"fail:cuLaunchKernel:{int(share * calls['cuLaunchKernel'])}:719"
        errors = errors_of(failure_of(lambda: train(f"fails{share}", fails)))
        assert len(errors) == 1 and re.match(r"error: rank (\d): GPU \1 \(Fake GPU\): launching kernel \w+: unspecified launch failure", errors[0]), errors
        failure = failure_of(lambda: train(f"alone{share}", fails, "lone-aborts"))
        if "fake CUDA" in failure:
            break
    expect_failure(failure, r"fake CUDA: deadlock: (?s:.*)ncclCommAbort of rank \d of communicator \d \(GPU \d\) waits for its last operation")


def count_calls(report):
    """Of each process."""
    with open(report) as file:
        return [json.loads(line)["calls"] for line in file]


def check_end_with_graph(programs, fake, directory):
    """What ranks that are processes, whose steps are graphs, do at their end: graphs are destroyed before communicators, also where these are aborted;
    and after a failure the reason is told before anything is destroyed."""
    plan, report = StagePlan(1, 1, 2, zero=1), os.path.join(directory, "calls.jsonl")

    def train(name, *plants, **others):
        return programs.train(fake, "gpt", plan, RUN, "mpirun", seed=1, name=name, PPOPT_FAKE_CUDA_PLANT=",".join(plants), **others)
    good = train("graph", PPOPT_FAKE_CUDA_REPORT=report)
    one, other = (calls["cuEventRecord"] for calls in count_calls(report))
    assert one == other, (one, other)
    expect_failure(failure_of(lambda: train("kept", "drop-graph-destroy:1")),
                   r"fake CUDA: deadlock: ncclCommDestroy of rank \d .* waits until the instantiated graph 0x\w+ is destroyed")
    os.remove(report)
    # The last event is that after which communicators are destroyed.
    aborted = train("aborted", f"fail:cuEventRecord:{one}:719", PPOPT_FAKE_CUDA_REPORT=report)
    expect_same_bits(aborted, good, "with communicators aborted and destroyed")
    assert all(calls.get("ncclCommAbort") and "ncclCommDestroy" not in calls for calls in count_calls(report)), count_calls(report)
    # Whatever was destroyed here would wait for ever.
    errors = errors_of(failure_of(lambda: train("told", f"fail:cuEventRecord:{one - 1}:719", "drop-graph-destroy:1")))
    assert len(errors) == 1 and re.match(r"error: rank \d: GPU \d \(Fake GPU\): recording an event: unspecified launch failure", errors[0]), errors


def main():
    harness = Harness("cuda_bugs")
    fake, wrapper = Fake(harness.args.build), check_fake.Fake(harness.args.build)
    with tempfile.TemporaryDirectory() as directory:
        inputs = {name: make for name, (make, _) in stage_plans.MODELS.items()}
        programs = CudaPrograms(harness.ppopt, directory, inputs)
        wrapped = Wrapped(programs, fake, wrapper)
        harness.cases([("a wait left out", functools.partial(check_left_out_waits, wrapped, directory)),
                       *((f"used again too early: {mutation}", functools.partial(check_too_early, wrapped, mutation, model, plan))
                         for mutation, model, plan in TOO_EARLY),
                       ("NCCL called in another order on one rank", functools.partial(check_other_order, programs, fake)),
                       ("the host reads within a step", functools.partial(check_host_read, programs, fake)),
                       ("equal UUIDs not seen", functools.partial(check_unseen_uuids, programs, fake)),
                       ("a rank misses hold", functools.partial(check_missed_hold, programs, fake)),
                       ("a rank fails: communicators are aborted", functools.partial(check_failing_thread, programs, fake, directory)),
                       ("graphs at the end", functools.partial(check_end_with_graph, programs, fake, directory))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
