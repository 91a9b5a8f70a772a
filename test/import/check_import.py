#!/usr/bin/env python3
"""Imports archives of torch.export and holds the first loss, all gradients and five steps of AdamW against PyTorch's figures in archives/, under one
rank, data parallelism, pipelines and sharded state: f64 within 1e-9, f32 within 1e-4 of a tensor's largest element. What is exported has the names
of the state_dict, tied ones too."""
import functools
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.results import Harness  # noqa: E402

import models  # noqa: E402

# Of these the way back is tried: one tie, and two.
BACK = [("gpt2", "gpt2.pt2"), ("bert", "bert.pt2")]


def main():
    harness = Harness("import")
    fixtures = models.Fixtures(str(HERE / "archives"))
    with tempfile.TemporaryDirectory() as scratch:
        harness.cases([(f"{archive[:-4]}, {plan}", functools.partial(models.check, harness.ppopt, scratch, fixtures, name, archive, spelling, plan))
                       for name, archive, spelling in fixtures.archives() if name in fixtures.described["models"] for plan in models.PLANS] +
                      [(f"{archive[:-4]}, back", functools.partial(models.check_back, harness.ppopt, scratch, fixtures, name, archive))
                       for name, archive in BACK])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
