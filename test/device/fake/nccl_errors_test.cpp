//===- nccl_errors_test.cpp - What the fake NCCL reports ------------------===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <regex>
#include <thread>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

/// Runs a program on ranks that are threads. They leave what they have.
Outcome runBroken(int ranks, const std::function<void(Rank &)> &program,
                  const std::string &more = "") {
  return runRanks(Launch::threads, machine(ranks, 1, more), ranks, program,
                  false);
}

NcclResult allReduce(Rank &rank, DeviceMemory memory, size_t count,
                     NcclType type = NcclType::i32,
                     NcclReduction reduction = NcclReduction::sum) {
  return nccl().allReduce(pointer(memory), pointer(memory), count, type,
                          reduction, rank.communicator, rank.stream);
}

void expectResult(NcclResult got, NcclResult wanted) {
  check(got == wanted, "returned {}, not {}", int(got), int(wanted));
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// A rank that joins and is refused.
struct Joining {
  int rank, ranks, gpu;
};

void expectNoJoin(const std::vector<Joining> &all, NcclResult wanted,
                  const std::string &pattern, const std::string &more = "") {
  std::shared_ptr<SharedIds> ids;
  auto join = [&](const Joining &own) {
    Gpu gpu(own.gpu);
    Communicator made = nullptr;
    NcclResult result = nccl().commInitRank(
        &made, own.ranks, ids->get(&own == all.data(), 0), own.rank);
    // Of a process that ends earlier the others would say that it is gone.
    ids->meet(all.size());
    expectResult(result, wanted);
    check(!made, "a communicator");
    // The GPU is as good as before.
    gpu.get<int>(gpu.put(std::vector<int>(4, 1)), 4);
  };
  ids = SharedIds::make();
  expectErrors(run(machine(3, 1, more),
                   [&] {
                     std::vector<std::thread> threads;
                     for (const Joining &each : all)
                       threads.emplace_back([&] { join(each); });
                     for (std::thread &thread : threads)
                       thread.join();
                   }),
               0, {"communicator 1: " + pattern});
  // Each process says it.
  ids = SharedIds::make();
  std::vector<std::function<void()>> programs;
  for (const Joining &each : all)
    programs.emplace_back([&] { join(each); });
  for (const Outcome &outcome : runAll(machine(3, 1, more), programs))
    expectErrors(outcome, 0,
                 {"communicator 1( of process [0-9]*)?: " + pattern});
}

TEST(NcclErrors, ARankTwice) {
  expectNoJoin({{1, 3, 0}, {1, 3, 1}}, NcclResult::invalidUsage,
               "rank 1 joins twice, on GPU [01] and GPU [01]");
}

TEST(NcclErrors, DifferentSizes) {
  expectNoJoin({{0, 2, 0}, {1, 3, 1}}, NcclResult::invalidUsage,
               "rank [01] \\(GPU [01]\\) expects [23] ranks, and others "
               "expect [23]");
}

TEST(NcclErrors, TwoRanksOnAGpu) {
  expectNoJoin({{0, 2, 2}, {1, 2, 2}}, NcclResult::invalidUsage,
               "Duplicate GPU detected: rank [01] and rank [01] are both on "
               "GPU 2");
}

TEST(NcclErrors, ARankThatDoesNotJoin) {
  expectNoJoin({{0, 4, 0}, {2, 4, 1}}, NcclResult::systemError,
               "rank [02] has waited for 3 seconds, and these ranks have not "
               "called ncclCommInitRank: 1, 3",
               "patience=3");
}

TEST(NcclErrors, AnIdTwice) {
  expectErrors(run(machine(1),
                   [] {
                     Gpu gpu(0);
                     CommunicatorId id = makeId();
                     Communicator again = nullptr;
                     PPOPT_MUST(nccl().commInitRank(&again, 1, id, 0));
                     expectResult(nccl().commInitRank(&again, 1, id, 0),
                                  NcclResult::invalidUsage);
                     id = {};
                     expectResult(nccl().commInitRank(&again, 1, id, 0),
                                  NcclResult::invalidArgument);
                     expectResult(nccl().commInitRank(&again, 2, makeId(), 2),
                                  NcclResult::invalidArgument);
                   }),
               0,
               {"ncclCommInitRank: communicator 1 has all its ranks: an id is "
                "for one communicator",
                "ncclCommInitRank: the id is none that ncclGetUniqueId made",
                "ncclCommInitRank: rank 2 of 2"});
}

//===----------------------------------------------------------------------===//
// Calls that do not fit one another
//===----------------------------------------------------------------------===//

/// Both ranks call. The later call is refused, and both GPUs fail. Of two
/// processes each says it, and maybe both have called before they know.
void expectMismatch(const std::function<NcclResult(Rank &, DeviceMemory)> &call,
                    const std::string &pattern) {
  std::atomic<int> refused{0};
  auto program = [&](Rank &rank) {
    DeviceMemory memory = rank.put(std::vector<int>(64, 1));
    PPOPT_MUST(allReduce(rank, memory, 1));
    refused += call(rank, memory) == NcclResult::invalidUsage;
    check(driver().streamSynchronize(rank.stream) != DriverResult::success,
          "the stream ended");
    NcclResult async = NcclResult::success;
    PPOPT_MUST(nccl().commGetAsyncError(rank.communicator, &async));
    expectResult(async, NcclResult::invalidUsage);
    PPOPT_MUST(nccl().commAbort(rank.communicator));
  };
  Variables variables = machine(2, 1, "connect=early");
  expectErrors(runRanks(
                   Launch::threads, variables, 2,
                   [&](Rank &rank) {
                     program(rank);
                     while (refused == 0)
                       std::this_thread::yield();
                   },
                   false),
               0, {"communicator 1: the " + pattern});
  std::string said = "communicator 1( of process [0-9]*)?: the " + pattern;
  expectErrors(runRanks(Launch::processes, variables, 2, program, false), 0,
               {said, said});
}

std::string callPattern(const std::string &what) {
  return "call 2 of rank [01], " + what +
         " \\(operation [0-9] of stream 1 of GPU [01]\\)";
}

TEST(NcclErrors, Kinds) {
  expectMismatch(
      [](Rank &rank, DeviceMemory memory) {
        return rank.rank == 0
                   ? allReduce(rank, memory, 4)
                   : nccl().allGather(pointer(memory), pointer(memory + 128), 4,
                                      NcclType::i32, rank.communicator,
                                      rank.stream);
      },
      "operations of ranks differ: " +
          callPattern("ncclAll.* of 4 i32( \\(sum\\))?") + ", and " +
          callPattern("ncclAll.* of 4 i32( \\(sum\\))?") +
          ". All ranks must call the operations of a communicator in one "
          "order");
}

TEST(NcclErrors, Counts) {
  expectMismatch(
      [](Rank &rank, DeviceMemory memory) {
        return allReduce(rank, memory, size_t(4 + rank.rank));
      },
      "counts of ranks differ: " +
          callPattern("ncclAllReduce of [45] i32 \\(sum\\)") + ", and " +
          callPattern("ncclAllReduce of [45] i32 \\(sum\\)"));
}

TEST(NcclErrors, Types) {
  expectMismatch(
      [](Rank &rank, DeviceMemory memory) {
        return allReduce(rank, memory, 4,
                         rank.rank ? NcclType::f32 : NcclType::i32);
      },
      "types of ranks differ: .* of 4 (f32|i32) .* of 4 (f32|i32) ");
}

TEST(NcclErrors, Reductions) {
  expectMismatch(
      [](Rank &rank, DeviceMemory memory) {
        return allReduce(rank, memory, 4, NcclType::i32,
                         rank.rank ? NcclReduction::max : NcclReduction::sum);
      },
      "reductions of ranks differ: .*\\((sum|max)\\).*\\((sum|max)\\)");
}

TEST(NcclErrors, CountsOfTransfers) {
  expectMismatch(
      [](Rank &rank, DeviceMemory memory) {
        return rank.rank ? rank.receive(memory, 5, 0) : rank.send(memory, 4, 1);
      },
      "counts of ranks differ: .*nccl(Send of 4 i32 to rank 1|Recv of 5 i32 "
      "from rank 0) .*nccl(Send of 4 i32 to rank 1|Recv of 5 i32 from rank "
      "0) ");
}

TEST(NcclErrors, OrdersOfCollectives) {
  // The later rank finds that the other has called its second one first.
  std::atomic<bool> isFirst{false};
  Outcome outcome = runBroken(
      2,
      [&](Rank &rank) {
        DeviceMemory memory = rank.put(std::vector<int>(64, 1));
        if (rank.rank == 0) {
          PPOPT_MUST(allReduce(rank, memory, 7));
          PPOPT_MUST(allReduce(rank, memory, 9));
          isFirst = true;
        } else {
          while (!isFirst)
            std::this_thread::yield();
          expectResult(allReduce(rank, memory, 9), NcclResult::invalidUsage);
          expectResult(allReduce(rank, memory, 7),
                       NcclResult::unhandledCudaError);
        }
      },
      "connect=early");
  expectErrors(
      outcome, 0,
      {"communicator 1: the counts of ranks differ: call 1 of rank 1, "
       "ncclAllReduce of 9 i32 \\(sum\\) \\(operation 2 of stream 1 of GPU "
       "1\\), and call 1 of rank 0, ncclAllReduce of 7 i32 \\(sum\\) "
       "\\(operation 2 of stream 1 of GPU 0\\)\\. Rank 0 called that as its "
       "call 2: they call in different orders\\. All ranks must"});
}

TEST(NcclErrors, OrdersOfTransfersAndCollectives) {
  expectErrors(runBroken(
                   2,
                   [](Rank &rank) {
                     Stream second = rank.makeStream();
                     DeviceMemory memory = rank.put(std::vector<int>(64, 1));
                     rank.order(rank.stream, second);
                     if (rank.rank == 0)
                       allReduce(rank, memory, 4);
                     std::swap(rank.stream, second);
                     rank.rank == 0 ? rank.send(memory + 128, 4, 1)
                                    : rank.receive(memory + 128, 4, 0);
                     std::swap(rank.stream, second);
                     if (rank.rank == 1)
                       allReduce(rank, memory, 4);
                     driver().streamSynchronize(rank.stream);
                   },
                   "connect=early"),
               0,
               {"communicator 1: the orders of transfers and collectives of "
                "ranks differ: call [12] of rank [01], nccl.* of 4 i32 .*"
                "GPU [01]\\), and call [12] of rank [01], nccl.* of 4 i32"});
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

TEST(NcclErrors, TransfersWithoutAGroup) {
  auto program = [](Rank &rank) {
    DeviceMemory memory = rank.put(std::vector<int>(8, 1));
    rank.send(memory, 4, 1 - rank.rank);
    rank.receive(memory + 16, 4, 1 - rank.rank);
    driver().streamSynchronize(rank.stream);
  };
  auto line = [](int rank) {
    return fmt::format(
        "\n  ncclSend of 4 i32 to rank {1}, rank {0} of communicator 1 "
        "\\(operation 2 of stream 1 of GPU {0}\\) waits for rank {1} \\(GPU "
        "{1}\\), which calls it in operation 3 of stream 1 of GPU {1} after "
        "ncclSend of 4 i32 to rank {0}, rank {1} of communicator 1",
        rank, 1 - rank);
  };
  for (int rank : {0, 1})
    expectErrors(
        runBroken(2, program, "connect=early"), faultStatus,
        {"deadlock: all ranks wait, and nothing can run:(.|\n)*" + line(rank)});
  // The first transfers connect the hosts.
  for (int rank : {0, 1})
    expectErrors(
        runBroken(2, program), faultStatus,
        {fmt::format("deadlock: all ranks wait, and nothing can run:(.|\n)*\n  "
                     "rank {0} of communicator 1 \\(GPU {0}\\) waits on the "
                     "host, in the first ncclSend of 4 i32 to rank {1}, until",
                     rank, 1 - rank)});
}

TEST(NcclErrors, APeerThatIsAnother) {
  expectErrors(runBroken(
                   3,
                   [](Rank &rank) {
                     DeviceMemory memory = rank.put(std::vector<int>(8, 1));
                     if (rank.rank == 0)
                       rank.send(memory, 4, 1);
                     if (rank.rank == 1)
                       rank.receive(memory, 4, 2);
                     if (rank.rank == 2)
                       allReduce(rank, memory, 4);
                     driver().streamSynchronize(rank.stream);
                   },
                   "connect=early"),
               faultStatus,
               {"deadlock: (.|\n)*ncclSend of 4 i32 to rank 1, rank 0 of "
                "communicator 1 .* waits for rank 1 \\(GPU 1\\), which has not "
                "called it; its last call is call 1 of rank 1, ncclRecv of 4 "
                "i32 from rank 2 \\(operation 2 of stream 1 of GPU 1\\)"});
}

TEST(NcclErrors, ACycleOverCommunicatorsAndStreams) {
  // Rank 0: communicator 1, then 2 after it by an event. Rank 1: 2, then 1.
  expectErrors(
      runBroken(
          2,
          [](Rank &rank) {
            Communicator other = rank.makeCommunicator();
            Stream side = rank.makeStream();
            DeviceMemory memory = rank.put(std::vector<int>(8, 1));
            rank.allReduce(memory, 4, rank.rank ? other : rank.communicator,
                           rank.stream);
            rank.order(rank.stream, side);
            rank.allReduce(memory, 4, rank.rank ? rank.communicator : other,
                           side);
            driver().streamSynchronize(side);
          },
          "connect=early"),
      faultStatus,
      {"deadlock: (.|\n)*ncclAllReduce of 4 i32 \\(sum\\), rank 0 of "
       "communicator 1 \\(operation 2 of stream 1 of GPU 0\\) waits for rank 1 "
       "\\(GPU 1\\), which calls it in operation 1 of stream 2 of GPU 1 after "
       "ncclAllReduce of 4 i32 \\(sum\\), rank 1 of communicator 2 "
       "\\(operation 2 of stream 1 of GPU 1\\)"});
}

TEST(NcclErrors, ACallThatNobodyAnswers) {
  // Another thread may still call, as long as it does not wait.
  expectErrors(
      runBroken(
          2,
          [](Rank &rank) {
            DeviceMemory memory = rank.put(std::vector<int>(8, 1));
            if (rank.rank == 0) {
              allReduce(rank, memory, 4);
              driver().streamSynchronize(rank.stream);
            }
          },
          "connect=early,patience=1"),
      faultStatus,
      {"nothing can run for 1 seconds:(.|\n)*ncclAllReduce of 4 i32 "
       "\\(sum\\), rank 0 of communicator 1 .* waits for rank 1 \\(GPU "
       "1\\), which has not called it; its last call is none"});
}

//===----------------------------------------------------------------------===//
// The end of communicators
//===----------------------------------------------------------------------===//

TEST(NcclErrors, ASendWithoutAReceiveAtTheEnd) {
  expectErrors(runBroken(
                   2,
                   [](Rank &rank) {
                     DeviceMemory memory = rank.put(std::vector<int>(8, 1));
                     if (rank.rank == 0)
                       PPOPT_MUST(rank.send(memory, 4, 1));
                   },
                   "connect=early"),
               faultStatus,
               {"at the end of the process, communicator 1: call 1 of rank 0, "
                "ncclSend of 4 i32 to rank 1 \\(operation 2 of stream 1 of GPU "
                "0\\) waits for rank 1 \\(GPU 1\\), which has not called it"});
}

TEST(NcclErrors, ASendWithoutAReceiveAtDestruction) {
  std::atomic<bool> isSent{false};
  expectErrors(
      runBroken(
          2,
          [&](Rank &rank) {
            DeviceMemory memory = rank.put(std::vector<int>(8, 1));
            if (rank.rank == 0) {
              PPOPT_MUST(rank.send(memory, 4, 1));
              isSent = true;
            }
            while (!isSent)
              std::this_thread::yield();
            nccl().commDestroy(rank.communicator);
          },
          "connect=early"),
      0,
      {"communicator 1: call 1 of rank 0, ncclSend of 4 i32 to rank 1 "
       "\\(operation 2 of stream 1 of GPU 0\\) waits for rank 1 \\(GPU "
       "1\\), which has destroyed the communicator"});
}

TEST(NcclErrors, ADestroyedCommunicator) {
  expectErrors(
      runBroken(1,
                [](Rank &rank) {
                  DeviceMemory memory = rank.put(std::vector<int>(8, 1));
                  PPOPT_MUST(nccl().commDestroy(rank.communicator));
                  expectResult(allReduce(rank, memory, 4),
                               NcclResult::invalidArgument);
                  expectResult(nccl().commDestroy(rank.communicator),
                               NcclResult::invalidArgument);
                }),
      0,
      {"ncclAllReduce: 0x7[0-9a-f]* is no communicator, or one that is "
       "destroyed",
       "ncclCommDestroy: 0x7[0-9a-f]* is no communicator"});
}

TEST(NcclErrors, AnAbortEndsOperations) {
  // Rank 1 never calls. Another thread aborts what rank 0 waits for.
  expectErrors(runBroken(
                   2,
                   [](Rank &rank) {
                     DeviceMemory memory = rank.put(std::vector<int>(8, 1));
                     if (rank.rank == 1)
                       return;
                     PPOPT_MUST(rank.send(memory, 4, 1));
                     std::thread watch([&] {
                       PPOPT_MUST(nccl().commAbort(rank.communicator));
                     });
                     rank.synchronize(rank.stream);
                     watch.join();
                   },
                   "connect=early"),
               0, {});
}

TEST(NcclErrors, AnAbortIsNoDeadlock) {
  // All wait until somebody aborts the others.
  expectSuccess(runBroken(
      3,
      [](Rank &rank) {
        DeviceMemory memory = rank.put(std::vector<int>(8, 1));
        if (rank.rank == 2) {
          usleep(100000);
          PPOPT_MUST(nccl().commAbort(rank.communicator));
          return;
        }
        PPOPT_MUST(allReduce(rank, memory, 4));
        std::thread watch([&] {
          usleep(500000);
          PPOPT_MUST(nccl().commAbort(rank.communicator));
        });
        rank.synchronize(rank.stream);
        watch.join();
      },
      "connect=early"));
}

} // namespace
