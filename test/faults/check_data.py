#!/usr/bin/env python3
"""A data file that shrinks, is rewritten or is removed while ranks train on it, with mpirun's own clean-up taken away: all
ranks end and say which file it was, or go on; and what is resumed once the file is back is bit-equal to a run without a fault.
"""
import functools
import os
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from check_processes import DEADLINE, Programs  # noqa: E402
from job import Job  # noqa: E402
from support.executable import run  # noqa: E402
from support.results import Harness  # noqa: E402

SOURCE = HERE.parent.parent / "docs" / "running.md"


def change(text, how):
    if how == "shrinks":
        os.truncate(text, 1000)
    elif how == "is rewritten":
        with open(text, "r+b") as file:
            file.write(b"other")
    else:
        os.remove(text)


def ends_and_goes_on(programs, plan, launch, how, part):
    """`part`: which of the two that are trained and evaluated on."""
    executable = programs.get(plan)
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory:
        texts = {each: os.path.join(directory, each) for each in ("train", "held-out")}
        for text in texts.values():
            shutil.copy(SOURCE, text)
        size = os.path.getsize(SOURCE)
        flags = ["--data", texts["train"], "--eval-data", texts["held-out"], "--eval-every", "4", "--checkpoint",
                 os.path.join(directory, "checkpoints"), "--checkpoint-every", "5"]
        with Job(executable, flags, directory, launch) as job:
            job.wait_for_step(12)
            job.stop_mpirun()
            change(texts[part], how)
            took = job.wait_for_ranks(DEADLINE)
            statuses = job.wait_for_statuses(job.ranks)
        assert set(statuses.values()) == {1}, f"statuses {statuses}: {job.error_text}"
        says = {"shrinks": rf"shrank while training, from {size} to 1000 bytes \(sample \d+\)",
                "is rewritten": rf"was changed while training: {size} bytes, last written .*\(sample \d+\)"}[how]
        assert any(re.search(f"{texts[part]}: {says}", line) for line in job.errors), job.error_text
        done = {record["step"]: record["loss_hex"] for record in job.steps}

        shutil.copy(SOURCE, texts[part])
        steps = max(done) + 3
        # A log that is there would be gone on with: each case has its own.
        resumed = run(executable, [*flags, "--resume"], launch, steps=steps, name=f"resumed.{how}.{part}")
        whole = run(executable, flags[:2], launch, steps=steps, name="whole")
        done.update({record["step"]: record["loss_hex"] for record in resumed.records})
        assert [done[step] for step in range(1, steps + 1)] == whole.hexadecimal, "the losses differ"
        for name, array in whole.parameters.items():
            assert array.tobytes() == resumed.parameters[name].tobytes(), name
        first = resumed.records[0]["step"]
        assert first % 5 == 1 and 1 < first <= steps - 2, f"resumed with step {first}"
        print(f"  ended {took:.2f} s after it, after step {steps - 3}; resumed with step {first}")


def goes_on(programs, plan, launch):
    """A file that is mapped is there until the run ends."""
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory:
        text = os.path.join(directory, "train")
        shutil.copy(SOURCE, text)
        with Job(programs.get(plan), ["--data", text], directory, launch) as job:
            job.wait_for_step(3)
            change(text, "is removed")
            job.wait_for_step(job.steps[-1]["step"] + 200)
            assert not os.path.exists(text) and not job.errors, job.error_text


def main():
    harness = Harness("data")
    with tempfile.TemporaryDirectory() as directory:
        programs = Programs(harness.ppopt, directory)
        for plan in ("dp", "pp", "shards"):
            for launch in ("threads", "mpirun"):
                harness.case(f"shrinks, {plan}, {launch}",
                             functools.partial(ends_and_goes_on, programs, plan, launch, "shrinks", "train"))
        harness.case("is rewritten, dp, mpirun",
                     functools.partial(ends_and_goes_on, programs, "dp", "mpirun", "is rewritten", "train"))
        harness.case("evaluation's shrinks, pp, mpirun",
                     functools.partial(ends_and_goes_on, programs, "pp", "mpirun", "shrinks", "held-out"))
        for launch in ("threads", "mpirun"):
            harness.case(f"is removed, dp, {launch}", functools.partial(goes_on, programs, "dp", launch))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
