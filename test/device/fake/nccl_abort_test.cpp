//===- nccl_abort_test.cpp - What ends a communicator waits for -----------===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

using End = NcclResult (*)(Communicator);

NcclResult abortIt(Communicator communicator) {
  return nccl().commAbort(communicator);
}
NcclResult destroyIt(Communicator communicator) {
  return nccl().commDestroy(communicator);
}

/// Captures a sum of one rank and launches it.
GraphExec launchSum(Rank &rank, bool keepsGraph = false) {
  DeviceMemory memory = rank.put(std::vector<int>(4, 1));
  rank.synchronize(rank.stream);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  PPOPT_MUST(
      driver().streamBeginCapture(rank.stream, CaptureMode::threadLocal));
  rank.allReduce(memory, 4, rank.communicator, rank.stream);
  PPOPT_MUST(driver().streamEndCapture(rank.stream, &graph));
  PPOPT_MUST(driver().graphInstantiate(&exec, graph, 0));
  if (!keepsGraph)
    PPOPT_MUST(driver().graphDestroy(graph));
  PPOPT_MUST(driver().graphLaunch(exec, rank.stream));
  return exec;
}

Outcome runAlone(const std::function<void(Rank &)> &program,
                 Variables variables = machine(1)) {
  return runRanks(Launch::threads, variables, 1, program, /*destroys=*/false);
}

TEST(NcclAbort, AGraphKeepsItsCommunicator) {
  for (End end : {abortIt, destroyIt}) {
    std::string call = end == abortIt ? "ncclCommAbort" : "ncclCommDestroy";
    auto program = [&](bool keepsGraph) {
      return runAlone([&](Rank &rank) {
        GraphExec exec = launchSum(rank, keepsGraph);
        if (keepsGraph)
          PPOPT_MUST(driver().graphExecDestroy(exec));
        end(rank.communicator);
      });
    };
    std::string waits = "deadlock: " + call +
                        " of rank 0 of communicator 1 \\(GPU 0\\) waits until "
                        "the {}graph 0x5[0-9a-f]* is destroyed, which has its "
                        "operations: this thread made it";
    expectErrors(program(false), faultStatus,
                 {fmt::format(fmt::runtime(waits), "instantiated ")});
    expectErrors(program(true), faultStatus,
                 {fmt::format(fmt::runtime(waits), "")});
  }
}

TEST(NcclAbort, AGraphThatIsDestroyedKeepsNothing) {
  for (End end : {abortIt, destroyIt})
    expectSuccess(runAlone([&](Rank &rank) {
      PPOPT_MUST(driver().graphExecDestroy(launchSum(rank)));
      PPOPT_MUST(end(rank.communicator));
      rank.synchronize(rank.stream);
    }));
  Variables planted = machine(1);
  planted["PPOPT_FAKE_CUDA_PLANT"] = "drop-graph-destroy:1";
  expectErrors(runAlone(
                   [](Rank &rank) {
                     PPOPT_MUST(driver().graphExecDestroy(launchSum(rank)));
                     nccl().commAbort(rank.communicator);
                   },
                   planted),
               faultStatus, {"deadlock: ncclCommAbort of .* waits until"});
}

/// Rank 0 never calls, and aborts. Sums of rank 1 in two communicators follow
/// one another in its stream, and it aborts the later one first.
Outcome abortBoth(bool inGroup, const std::string &plant = "") {
  Variables variables = machine(2, 1, "connect=early");
  variables["PPOPT_FAKE_CUDA_PLANT"] = plant;
  std::atomic<bool> hasAborted{false};
  return runRanks(
      Launch::threads, variables, 2,
      [&](Rank &rank) {
        DeviceMemory memory = rank.put(std::vector<int>(8, 1));
        Communicator earlier = rank.makeCommunicator();
        if (rank.rank == 1) {
          rank.allReduce(memory, 4, earlier, rank.stream);
          rank.allReduce(memory, 4, rank.communicator, rank.stream);
          while (!hasAborted)
            std::this_thread::yield();
        }
        if (inGroup)
          PPOPT_MUST(nccl().groupStart());
        PPOPT_MUST(nccl().commAbort(rank.communicator));
        PPOPT_MUST(nccl().commAbort(earlier));
        if (inGroup)
          PPOPT_MUST(nccl().groupEnd());
        hasAborted = true;
        rank.synchronize(rank.stream);
      },
      /*destroys=*/false);
}

TEST(NcclAbort, CommunicatorsOfOneStreamInAGroup) {
  expectSuccess(abortBoth(true));
  std::vector<std::string> deadlock = {
      "deadlock: all ranks wait, and nothing can run:\n"
      "  ncclAllReduce of 4 i32 \\(sum\\), rank 1 of communicator 2 "
      "\\(operation 2 of stream 1 of GPU 1\\) waits for rank 0 \\(GPU 0\\), "
      "which has aborted the communicator\n"
      "  ncclCommAbort of rank 1 of communicator 1 \\(GPU 1\\) waits for its "
      "last "
      "operation, ncclAllReduce of 4 i32 \\(sum\\), rank 1 of communicator 1 "
      "\\(operation 3 of stream 1 of GPU 1\\)"};
  expectErrors(abortBoth(false), faultStatus, deadlock);
  expectErrors(abortBoth(true, "lone-aborts"), faultStatus, deadlock);
}

TEST(NcclAbort, ARankThatWaitsOnTheHostIsNotFreed) {
  // Rank 0 connects with rank 1, which aborts and calls no more.
  expectErrors(
      runRanks(
          Launch::threads, machine(2, 1, "patience=2"), 2,
          [](Rank &rank) {
            DeviceMemory memory = rank.put(std::vector<int>(8, 1));
            if (rank.rank == 0)
              rank.allReduce(memory, 4, rank.communicator, rank.stream);
            else
              PPOPT_MUST(nccl().commAbort(rank.communicator));
          },
          /*destroys=*/false),
      faultStatus,
      {"nothing can run for 2 seconds:[\\s\\S]*\n  rank 0 of communicator 1 "
       "\\(GPU 0\\) waits on the host, in the first ncclAllReduce"});
}

} // namespace
