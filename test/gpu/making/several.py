"""GPT-2 on several GPUs, data-parallel, and how ranks become processes there."""
import os

from making.compiler import compile_cuda, make_gpt
from making.folder import in_parallel
from making.gpt2 import BATCHES, FLAGS, TINY_BATCHES, shape_of, sizes_of
from support.mpirun import MPIRUN, ON_ONE_MACHINE

RANKS, TINY_RANKS = [2, 4, 8], [2]
PLAN = ["--zero", "1"]
MODULE = "lib/ppopt/libppopt_mpi.so"


def add_scaling(folder, ppopt, directory):
    """The batch per GPU is the smallest of `gpt2`, whose program is that of one GPU."""
    rows = (TINY_BATCHES if folder.tiny else BATCHES)[0]

    def add(ranks):
        model = make_gpt(ppopt, os.path.join(directory, f"scaling_{ranks}.mlir"), [*sizes_of(shape_of(folder)), "--batch", str(rows * ranks)])
        key = f"gpt2_dp{ranks}"
        folder.add_executable(key, compile_cuda(ppopt, model, os.path.join(directory, key), [*FLAGS, "--mesh", f"dp={ranks}", *PLAN]).path)
        return {"executable": key, "rows": rows * ranks}
    several = TINY_RANKS if folder.tiny else RANKS
    made = dict(zip(map(str, several), in_parallel(add, several)))
    folder.manifest["scaling"] = {"1": {"executable": f"gpt2_{rows}", "rows": rows}, **made}


def add_mpi(folder, build):
    """The module that executables load under mpirun, and mpirun's flags; None if the build has none."""
    module = os.path.join(build, MODULE)
    folder.manifest["mpi"] = None
    if os.path.exists(module):
        folder.manifest["mpi"] = {"module": folder.add(module, f"executables/{os.path.basename(module)}"), "launch": [*MPIRUN[1:], *ON_ONE_MACHINE]}
