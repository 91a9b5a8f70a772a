//===- nccl_processes_test.cpp - Ranks of the fake NCCL in processes ------===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <csignal>
#include <thread>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

constexpr size_t count = 100;
std::vector<int> filled(int value, size_t size = count) {
  return std::vector<int>(size, value);
}

Outcome runProcesses(int ranks, const std::function<void(Rank &)> &program,
                     const std::string &more = "", bool destroys = false) {
  return runRanks(Launch::processes, machine(ranks, 1, more), ranks, program,
                  destroys);
}

/// More bytes than sockets take, both ways at once.
TEST(NcclProcesses, LargeTransfers) {
  expectSuccess(runProcesses(
      2,
      [](Rank &rank) {
        size_t large = size_t(1) << 20;
        DeviceMemory out = rank.put(filled(rank.rank, large)),
                     in = rank.allocate(large * 4);
        PPOPT_MUST(nccl().groupStart());
        PPOPT_MUST(rank.send(out, large, 1 - rank.rank));
        PPOPT_MUST(rank.receive(in, large, 1 - rank.rank));
        PPOPT_MUST(nccl().groupEnd());
        check(rank.get<int>(in, large) == filled(1 - rank.rank, large),
              "wrong bytes");
      },
      "", true));
}

/// Two processes with two ranks each, which are threads.
TEST(NcclProcesses, ThreadsOfProcesses) {
  for (int seed = 1; seed <= 5; ++seed) {
    std::shared_ptr<SharedIds> ids = SharedIds::make();
    auto program = [&](int process) {
      std::vector<std::thread> threads;
      for (int rank : {process, process + 2})
        threads.emplace_back([&, rank] {
          Rank own(rank, 4, *ids);
          DeviceMemory memory = own.put(filled(1));
          if (rank > 0)
            PPOPT_MUST(own.receive(memory, count, rank - 1));
          if (rank < 3)
            PPOPT_MUST(own.send(memory, count, rank + 1));
          own.allReduce(memory, count, own.communicator, own.stream);
          check(own.get<int>(memory, count) == filled(4), "a wrong sum");
          PPOPT_MUST(nccl().commDestroy(own.communicator));
        });
      for (std::thread &thread : threads)
        thread.join();
    };
    for (const Outcome &outcome :
         runAll(machine(4, seed), {[&] { program(0); }, [&] { program(1); }}))
      expectSuccess(outcome);
  }
}

/// The process that made the id is done, and others still talk.
TEST(NcclProcesses, TheFirstOneEndsEarly) {
  expectSuccess(runProcesses(
      3,
      [](Rank &rank) {
        DeviceMemory memory = rank.put(filled(rank.rank));
        if (rank.rank == 0)
          return;
        usleep(300000);
        PPOPT_MUST(rank.rank == 1 ? rank.send(memory, count, 2)
                                  : rank.receive(memory, count, 1));
        check(rank.get<int>(memory, count) == filled(1), "wrong values");
      },
      "", true));
}

/// A process that is no rank makes the id, and ends when all have joined.
TEST(NcclProcesses, AnIdOfAnotherProcess) {
  std::shared_ptr<SharedIds> ids = SharedIds::make();
  auto rank = [&](int number) {
    Gpu gpu(number);
    Communicator made = nullptr;
    PPOPT_MUST(nccl().commInitRank(&made, 2, ids->get(false, 0), number));
    if (number == 0)
      ids->get(true, 1); // which lets the other process end
    usleep(300000);
    DeviceMemory memory = gpu.put(filled(1));
    PPOPT_MUST(nccl().allReduce(pointer(memory), pointer(memory), count,
                                NcclType::i32, NcclReduction::sum, made,
                                gpu.stream));
    check(gpu.get<int>(memory, count) == filled(2), "a wrong sum");
    PPOPT_MUST(nccl().commDestroy(made));
  };
  auto maker = [&] {
    ids->get(true, 0);
    ids->get(false, 1);
  };
  for (const Outcome &outcome :
       runAll(machine(2), {maker, [&] { rank(0); }, [&] { rank(1); }}))
    expectSuccess(outcome);
}

TEST(NcclProcesses, TheMakerOfAnIdEndsTooEarly) {
  std::shared_ptr<SharedIds> ids = SharedIds::make();
  std::vector<Outcome> outcomes = runAll(
      machine(2), {[&] {
                     ids->get(true, 0);
                     usleep(1500000);
                     _exit(0);
                   },
                   [&] {
                     Gpu gpu(0);
                     Communicator made = nullptr;
                     check(nccl().commInitRank(&made, 2, ids->get(false, 0),
                                               0) == NcclResult::remoteError,
                           "joined");
                   }});
  expectErrors(outcomes[1], 0,
               {"communicator 1 of process [0-9]+: process [0-9]+, which made "
                "the id, has ended, and these ranks have not joined: 1"});
}

TEST(NcclProcesses, AnIdOfAProcessThatHasEnded) {
  std::shared_ptr<SharedIds> ids = SharedIds::make();
  expectSuccess(run(machine(2), [&] { ids->get(true, 0); }));
  expectErrors(run(machine(2),
                   [&] {
                     Gpu gpu(0);
                     Communicator made = nullptr;
                     check(nccl().commInitRank(&made, 2, ids->get(false, 0),
                                               0) == NcclResult::systemError,
                           "joined");
                   }),
               0,
               {"ncclCommInitRank: process [0-9]+ made the id, and takes no "
                "more ranks for it: it has ended, or all ranks have joined"});
}

/// Rank `dead` is killed while the others wait for it. Each is told at once.
void expectDeath(int dead) {
  auto begin = std::chrono::steady_clock::now();
  std::string line = fmt::format(
      "error: fake CUDA: communicator 1( of process [0-9]+)?: call 1 of rank "
      "[0-2], ncclAllReduce of 100 i32 \\(sum\\) \\(operation 2 of stream 1 of "
      "GPU [0-2]\\) (waits for rank {0} \\(GPU {0}\\)|needs rank {0}), which "
      "is gone: its "
      "process has ended\n",
      dead);
  Outcome outcome = runProcesses(
      3,
      [&](Rank &rank) {
        DeviceMemory memory = rank.put(filled(1));
        if (rank.rank == dead) {
          usleep(300000);
          kill(getpid(), SIGKILL);
        }
        rank.allReduce(memory, count, rank.communicator, rank.stream);
        check(driver().streamSynchronize(rank.stream) != DriverResult::success,
              "the stream ended");
        NcclResult async = NcclResult::success;
        PPOPT_MUST(nccl().commGetAsyncError(rank.communicator, &async));
        check(async == NcclResult::remoteError, "the error is {}", int(async));
      },
      "connect=early");
  EXPECT_EQ(outcome.status, -SIGKILL);
  EXPECT_TRUE(std::regex_match(outcome.errors, std::regex(line + line)))
      << outcome.errors;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(NcclProcesses, AnyOneDies) {
  expectDeath(2);
  expectDeath(0);
}

TEST(NcclProcesses, OneDiesBeforeAllHaveJoined) {
  std::shared_ptr<SharedIds> ids = SharedIds::make();
  auto join = [&](int rank) {
    Gpu gpu(rank);
    Communicator made = nullptr;
    check(nccl().commInitRank(&made, 3, ids->get(rank == 0, 0), rank) ==
              NcclResult::remoteError,
          "joined");
  };
  std::vector<Outcome> outcomes =
      runAll(machine(3), {[&] { join(0); },
                          [&] {
                            std::thread([] {
                              usleep(1500000);
                              kill(getpid(), SIGKILL);
                            }).detach();
                            join(1);
                          }});
  expectErrors(outcomes[0], 0,
               {"communicator 1: rank 1 \\(GPU 1\\) is gone: its process has "
                "ended, and these ranks have not joined: 2"});
  EXPECT_EQ(outcomes[1].status, -SIGKILL);
}

/// Nobody knows whether another process may go on, so this takes the patience.
TEST(NcclProcesses, ADeadlock) {
  Outcome outcome = runProcesses(
      2,
      [](Rank &rank) {
        DeviceMemory memory = rank.put(filled(1));
        rank.send(memory, count, 1 - rank.rank);
        rank.receive(memory, count, 1 - rank.rank);
        driver().streamSynchronize(rank.stream);
      },
      "connect=early,patience=4");
  EXPECT_EQ(outcome.status, faultStatus);
  EXPECT_TRUE(std::regex_search(
      outcome.errors,
      std::regex(
          "error: fake CUDA: nothing can run for 4 seconds:\n  ncclSend of 100 "
          "i32 to rank ([01]), rank [01] of communicator 1( of process "
          "[0-9]+)? "
          "\\(operation 2 of stream 1 of GPU [01]\\) waits for rank \\1 \\(GPU "
          "\\1\\), which calls it in operation 3 of stream 1 of GPU \\1 and "
          "has "
          "not come to it")))
      << outcome.errors;
}

TEST(NcclProcesses, ASendWithoutAReceive) {
  for (bool destroys : {false, true})
    for (int sender : {0, 1}) {
      Outcome outcome = runProcesses(
          2,
          [&](Rank &rank) {
            DeviceMemory memory = rank.put(filled(1));
            if (rank.rank == sender) {
              rank.send(memory, count, 1 - sender);
              if (destroys) // which waits for what was sent
                nccl().commDestroy(rank.communicator);
              return;
            }
            usleep(1000000);
            if (destroys)
              nccl().commDestroy(rank.communicator);
          },
          "connect=early");
      EXPECT_TRUE(std::regex_search(
          outcome.errors,
          std::regex(fmt::format(
              "error: fake CUDA: {}communicator 1( of process [0-9]+)?: call 1 "
              "of rank {}, ncclSend of 100 i32 to rank {} \\(operation 2 of "
              "stream 1 of GPU {}\\) waits for rank {} \\(GPU {}\\), which {}",
              destroys ? "" : "at the end of the process, ", sender, 1 - sender,
              sender, 1 - sender, 1 - sender,
              destroys ? "has destroyed the communicator"
                       : "has not called it"))))
          << outcome.errors;
      if (!destroys)
        EXPECT_EQ(outcome.status, faultStatus);
    }
}

} // namespace
