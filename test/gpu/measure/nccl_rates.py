"""Bytes per second of NCCL's operations between the GPUs of this machine. Ranks are threads.

    nccl_rates.py RANKS [fake]    # with the libraries on LD_LIBRARY_PATH; prints JSON
"""
import ctypes
import json
import os
import sys
import threading
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from measure.driver import Gpu  # noqa: E402
from measure.nccl import FLOAT32, SUM, Nccl  # noqa: E402

SIZES = [1 << 20, 16 << 20, 256 << 20]  # bytes of the whole
FAKE_SIZES = [1 << 12]
REPEATS = {1 << 20: 50, 16 << 20: 20, 256 << 20: 5}
# By kind: the share of the whole that crosses each rank's links, of n ranks.
SHARES = {"all-reduce": lambda n: 2 * (n - 1) / n, "all-gather": lambda n: (n - 1) / n, "reduce-scatter": lambda n: (n - 1) / n, "send and receive": lambda n: 1}


class Rank:
    def __init__(self, rank, ranks, unique, most):
        self.rank, self.ranks, self.gpu, self.nccl = rank, ranks, Gpu(rank), Nccl()
        self.communicator = ctypes.c_void_p()
        self.nccl.require("ncclCommInitRank", ctypes.byref(self.communicator), ranks, unique, rank)
        self.whole, self.other = (self.gpu.allocate(most).value for _ in range(2))

    def enqueue(self, kind, size):
        count, on = size // 4, (self.communicator, self.gpu.stream)
        part = count // self.ranks
        own = self.whole + 4 * part * self.rank
        if kind == "all-reduce":
            self.nccl.require("ncclAllReduce", self.whole, self.whole, count, FLOAT32, SUM, *on)
        elif kind == "all-gather":
            self.nccl.require("ncclAllGather", own, self.whole, part, FLOAT32, *on)
        elif kind == "reduce-scatter":
            self.nccl.require("ncclReduceScatter", self.whole, own, part, FLOAT32, SUM, *on)
        else:  # around the ring
            self.nccl.require("ncclGroupStart")
            self.nccl.require("ncclSend", self.whole, count, FLOAT32, (self.rank + 1) % self.ranks, *on)
            self.nccl.require("ncclRecv", self.other, count, FLOAT32, (self.rank - 1) % self.ranks, *on)
            self.nccl.require("ncclGroupEnd")

    def measure(self, kind, size, repeats, barrier):
        """Seconds of one operation, those that NCCL expects, and why it expects none."""
        self.enqueue(kind, size)
        self.gpu.synchronize()
        barrier.wait()
        begin = time.perf_counter()
        for _ in range(repeats):
            self.enqueue(kind, size)
        self.gpu.synchronize()
        seconds = (time.perf_counter() - begin) / repeats
        barrier.wait()
        # NCCL has no expectation of transfers.
        microseconds, error = (None, None) if kind == "send and receive" else self.nccl.expect(lambda: self.enqueue(kind, size))
        return seconds, microseconds and microseconds / 1e6, error


def measure(ranks, is_fake):
    sizes = FAKE_SIZES if is_fake else SIZES
    unique, barrier = Nccl().unique_id(), threading.Barrier(ranks)
    results, errors = [{} for _ in range(ranks)], []

    def run(number):
        try:
            rank = Rank(number, ranks, unique, sizes[-1])
            for kind in SHARES:
                for size in sizes:
                    results[number][kind, size] = rank.measure(kind, size, REPEATS.get(size, 1), barrier)
            rank.nccl.require("ncclCommDestroy", rank.communicator)
        except Exception as error:
            errors.append(f"rank {number}: {type(error).__name__}: {error}")
            barrier.abort()
            os._exit(report({"error": errors[0]}))  # others may wait in NCCL
    threads = [threading.Thread(target=run, args=(number,)) for number in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = []
    for kind, share in SHARES.items():
        for size in sizes:
            seconds = max(result[kind, size][0] for result in results)
            _, expected, error = results[0][kind, size]
            moved = share(ranks) * size
            lines.append({"operation": kind, "bytes": size, "bytes_per_second": None if is_fake else moved / seconds,
                          "expected_bytes_per_second": expected and moved / expected, "no_expectation": error})
    return {"ranks": ranks, "rates": lines}


def report(found):
    print(json.dumps(found), flush=True)
    return 1 if "error" in found else 0


if __name__ == "__main__":
    sys.exit(report(measure(int(sys.argv[1]), "fake" in sys.argv)))
