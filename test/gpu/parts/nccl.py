"""NCCL by ctypes: one rank sums a buffer in place; and what NCCL answers two ranks on one GPU.

    nccl.py one|two    # with the libraries on LD_LIBRARY_PATH; prints JSON
"""
import ctypes
import json
import os
import sys
import threading
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from measure import libraries  # noqa: E402
from measure.context import Failed, Skip, last_line  # noqa: E402
from measure.driver import Gpu  # noqa: E402
from measure.nccl import ENVIRONMENT, FLOAT32, SUM, Nccl  # noqa: E402

COUNT = 1 << 20  # elements; a few more on a GPU, to time
REPEATS = 20
LIMITS = {"one": 10, "two": 8}


def fill(array, rank):
    """Values whose sums are exact."""
    for i in range(len(array)):
        array[i] = (i % 251) + 1000 * rank


def sum_in_place(nccl, gpu, communicator, rank, ranks, count):
    """All-reduces a buffer of `count` elements; returns how many elements are wrong, and the buffer."""
    host, memory = gpu.pinned(count), gpu.allocate(4 * count)
    fill(host, rank)
    gpu.copy_in(memory, host)
    nccl.require("ncclAllReduce", memory, memory, count, FLOAT32, SUM, communicator, gpu.stream)
    gpu.synchronize()
    gpu.copy_out(host, memory)
    offset = 1000 * ranks * (ranks - 1) // 2
    return sum(host[i] != ranks * (i % 251) + offset for i in range(count)), memory


def one_rank(is_fake):
    gpu, nccl = Gpu(), Nccl()
    communicator, free = ctypes.c_void_p(), gpu.memory()[0]
    begin = time.perf_counter()
    nccl.require("ncclCommInitRank", ctypes.byref(communicator), 1, nccl.unique_id(), 0)
    found = {"version": nccl.version(), "init_seconds": None if is_fake else time.perf_counter() - begin}
    count = 1000 if is_fake else COUNT
    wrong, memory = sum_in_place(nccl, gpu, communicator, 0, 1, count)
    # What a communicator takes without connections; runtime/include/ppopt/nccl_memory.h reserves for these.
    found.update(elements=count, wrong_elements=wrong, taken_bytes=free - gpu.memory()[0] - 4 * count)
    if not is_fake:
        begin = time.perf_counter()
        for _ in range(REPEATS):
            nccl.require("ncclAllReduce", memory, memory, count, FLOAT32, SUM, communicator, gpu.stream)
        gpu.synchronize()
        found["all_reduce_us"] = 1e6 * (time.perf_counter() - begin) / REPEATS
    nccl.require("ncclCommDestroy", communicator)
    return found


def two_ranks(is_fake):
    """Two threads of one process, each a rank, on one GPU."""
    nccl = Nccl()
    unique, answers = nccl.unique_id(), [None, None]

    def rank_of(rank):
        try:
            gpu, communicator = Gpu(), ctypes.c_void_p()
            error = nccl.call("ncclCommInitRank", ctypes.byref(communicator), 2, unique, rank)
            answers[rank] = error or f"{sum_in_place(nccl, gpu, communicator, rank, 2, 1000)[0]} wrong elements"
        except Exception as error:
            answers[rank] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=rank_of, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"answers": answers}


def start(context, which):
    """Runs one of both in a process, which NCCL may end. Returns what it found, and the warnings of NCCL."""
    command = [sys.executable, os.path.realpath(__file__), which, *(["fake"] if context.fake else [])]
    done = context.run(command, LIMITS[which], context.environment(**ENVIRONMENT), statuses=None)
    warnings = [line.strip() for line in (done.out + "\n" + done.error).splitlines() if "NCCL WARN" in line]
    answer = [line for line in done.out.splitlines() if line.startswith("{")]
    if done.status != 0 or not answer:
        raise Failed(f"{which} rank{'s' * (which == 'two')}: status {done.status}: {last_line(done.error)}")
    return {**json.loads(answer[-1]), "warnings": warnings[:4]}


def run(context):
    if not libraries.find(libraries.LIBRARIES["NCCL"], context.fake):
        raise Skip("libnccl.so.2 is not here")
    context.add(one=start(context, "one"))
    if context.found["one"]["wrong_elements"]:
        raise Failed(f"one rank: {context.found['one']['wrong_elements']} elements of a sum are wrong")
    context.add(two=start(context, "two"))


def lines(found):
    if one := found.get("one"):
        yield (f"NCCL {one['version']}: one rank sums {one['elements']:,} elements, {one['wrong_elements']} wrong; {one['taken_bytes'] / 2**20:.0f} MiB taken"
               + (f"; init {one['init_seconds']:.2f} s, all-reduce {one['all_reduce_us']:.0f} us" if one["init_seconds"] else ""))
    if two := found.get("two"):
        yield "two ranks on one GPU: " + " / ".join(two["answers"])
        yield from (f"  {warning}" for warning in two["warnings"])


if __name__ == "__main__":
    print(json.dumps({"one": one_rank, "two": two_ranks}[sys.argv[1]]("fake" in sys.argv)))
