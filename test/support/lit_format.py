"""lit's shell tests, each with a share of the machine where tools/check runs them (pool.py)."""

import time

import lit.formats
import lit.Test

from support.pool import share


class TimedResult(lit.Test.Result):
    """Its time does not count how long the test waited for its share."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value - self.waited if name == "elapsed" else value)


class SharingShTest(lit.formats.ShTest):
    def execute(self, test, lit_config):
        begin = time.time()
        # mpirun waits before it starts ranks, and a second before it ends where one failed.
        with share("wait" if "mpi" in test.path_in_suite[-1] else "core"):
            waited = time.time() - begin
            result = super().execute(test, lit_config)
        if isinstance(result, lit.Test.Result):
            result.waited, result.__class__ = waited, TimedResult
        return result
