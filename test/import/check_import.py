#!/usr/bin/env python3
"""Imports archives of torch.export and holds the first loss, all gradients and five steps of AdamW against PyTorch's figures in archives/, under one
rank, data parallelism, pipelines and sharded state: f64 within 1e-9, f32 within 1e-4 of a tensor's largest element. What is exported has the names
of the state_dict, tied ones too. Then each row of the table of ops (ops/), in which every op of the reference is, ops that are refused (unsupported/),
and broken archives (hostile.py)."""
import argparse
import functools
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.results import SOURCE, Harness  # noqa: E402

import batches  # noqa: E402
import models  # noqa: E402
import ops  # noqa: E402

# The batch of these is a Dim: they are given four times the rows.
WIDE = ("dynamic.pt2", "dynamic_core.pt2", "dynamic_rows.pt2", "encoder_time_major.pt2")
# Of these the way back is tried: one tie, two, and buffers.
BACK = [("gpt2", "gpt2.pt2"), ("bert", "bert.pt2"), ("buffers", "buffers.pt2")]


def check_reference(cases, fixtures, scratch):
    """Every op that the reference lists is in a program with figures."""
    archives = [ops.ops_of(fixtures.unpack(archive, scratch)) for name, archive, _ in fixtures.archives() if fixtures.plans(name, archive, False)]
    page = (pathlib.Path(SOURCE) / "docs/reference/import-ops.md").read_text()
    ops.check_listed(page, cases.ops() + archives)
    # What is wrong is seen.
    for words, wrong in ("in no program", lambda: ops.check_listed(page + "| `aten.none.default` |\n", cases.ops() + archives)), \
                        ("WITHOUT_FIGURES has", lambda: ops.check_listed(page, cases.ops() + archives, {"aten.add.Tensor": "", **ops.WITHOUT_FIGURES})):
        try:
            wrong()
        except AssertionError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"was not seen to fail: {words}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="all archives under all plans")
    harness = Harness("import", parser)
    fixtures = models.Fixtures(str(HERE / "archives"))
    with tempfile.TemporaryDirectory() as scratch:
        cases = ops.Cases(str(HERE / "ops"), scratch)
        unsupported = models.Unpacker(str(HERE / "unsupported"))
        # The longest begins first.
        harness.cases(
            [("broken archives", functools.partial(ops.check_hostile, harness.ppopt, scratch, [sys.executable, str(HERE / "hostile.py")],
                                                   str(HERE / "archives" / "mlp.pt2.gz")))] +
            [(f"{archive[:-4]}, {plan}", functools.partial(models.check, harness.ppopt, scratch, fixtures, name, archive, spelling, plan,
                                                           fixtures.is_optimized(name, archive, plan, harness.args.long)))
             for name, archive, spelling in fixtures.archives() for plan in fixtures.plans(name, archive, harness.args.long)] +
            [(f"{archive[:-4]}, back", functools.partial(models.check_back, harness.ppopt, scratch, fixtures, name, archive))
             for name, archive in BACK] +
            [(f"{archive[:-4]}, more rows", functools.partial(models.check_wide, harness.ppopt, scratch, fixtures, name, archive, spelling))
             for name, archive, spelling in fixtures.archives() if archive in WIDE] +
            [(f"ops, {program}", functools.partial(ops.check_group, harness.ppopt, cases, program, names, optimized))
             for program, names, optimized in cases.groups(harness.args.long)] +
            [(f"refused: {name}", functools.partial(ops.check_refused, harness.ppopt, cases, name, word)) for name, word in cases.refused()] +
            [("the number of rows", functools.partial(batches.check_fixed, harness.ppopt, scratch, fixtures)),
             ("a variance over the rows", functools.partial(batches.check_spread, harness.ppopt, scratch, fixtures)),
             ("--batch-dim", functools.partial(batches.check_batch_dims, harness.ppopt, scratch, fixtures)),
             ("ops of the reference", functools.partial(check_reference, cases, fixtures, scratch)),
             ("unsupported ops", functools.partial(ops.check_unsupported, harness.ppopt, scratch, unsupported.unpack, str(HERE / "unsupported")))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
