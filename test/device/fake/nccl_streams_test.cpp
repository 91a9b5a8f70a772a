//===- nccl_streams_test.cpp - Operations of the fake NCCL in streams -----===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

constexpr int seeds = 20;
constexpr int fewSeeds = 2; ///< where the order matters little

/// Runs a program in many orders.
void expectRuns(int ranks, const std::function<void(Rank &)> &program,
                int orders = seeds) {
  for (Launch launch : {Launch::threads, Launch::processes})
    for (int seed = 1; seed <= orders; ++seed)
      expectSuccess(runRanks(launch, machine(ranks, seed), ranks, program));
}

void expectAll(const std::vector<int> &got, int wanted) {
  for (int each : got)
    check(each == wanted, "{} instead of {}", each, wanted);
}

constexpr size_t count = 100;
std::vector<int> filled(int value) { return std::vector<int>(count, value); }

TEST(NcclStreams, BothDirectionsInAGroup) {
  expectRuns(2, [](Rank &rank) {
    DeviceMemory out = rank.put(filled(rank.rank)),
                 in = rank.allocate(count * 4);
    int peer = 1 - rank.rank;
    PPOPT_MUST(nccl().groupStart());
    PPOPT_MUST(rank.send(out, count, peer));
    PPOPT_MUST(nccl().groupStart());
    PPOPT_MUST(rank.receive(in, count, peer));
    PPOPT_MUST(nccl().groupEnd());
    PPOPT_MUST(nccl().groupEnd());
    expectAll(rank.get<int>(in, count), peer);
  });
}

TEST(NcclStreams, TransfersToItself) {
  expectRuns(2, [](Rank &rank) {
    DeviceMemory out = rank.put(filled(rank.rank + 5)),
                 in = rank.allocate(count * 4);
    PPOPT_MUST(nccl().groupStart());
    PPOPT_MUST(rank.receive(in, count, rank.rank));
    PPOPT_MUST(rank.send(out, count, rank.rank));
    PPOPT_MUST(nccl().groupEnd());
    expectAll(rank.get<int>(in, count), rank.rank + 5);
  });
}

/// Ranks that call the communicators of a group in different orders.
TEST(NcclStreams, CommunicatorsInAGroup) {
  expectRuns(2, [](Rank &rank) {
    Communicator other = rank.makeCommunicator();
    DeviceMemory a = rank.put(filled(1)), b = rank.put(filled(2));
    PPOPT_MUST(nccl().groupStart());
    if (rank.rank == 0)
      rank.allReduce(a, count, rank.communicator, rank.stream);
    rank.allReduce(b, count, other, rank.stream);
    if (rank.rank == 1)
      rank.allReduce(a, count, rank.communicator, rank.stream);
    PPOPT_MUST(nccl().groupEnd());
    expectAll(rank.get<int>(a, count), 2);
    expectAll(rank.get<int>(b, count), 4);
    PPOPT_MUST(nccl().commDestroy(other));
  });
}

/// A group comes after what all of its streams have, and they go on after it.
TEST(NcclStreams, StreamsInAGroup) {
  expectRuns(2, [](Rank &rank) {
    Stream second = rank.makeStream();
    DeviceMemory out = rank.put(filled(rank.rank + 1)),
                 in = rank.allocate(count * 4);
    PPOPT_MUST(driver().memsetD8Async(in, 9, count * 4, second));
    PPOPT_MUST(nccl().groupStart());
    PPOPT_MUST(rank.send(out, count, 1 - rank.rank));
    PPOPT_MUST(nccl().receive(pointer(in), count, NcclType::i32, 1 - rank.rank,
                              rank.communicator, second));
    PPOPT_MUST(nccl().groupEnd());
    PPOPT_MUST(driver().memsetD8Async(out, 0, count * 4, second));
    expectAll(rank.get<int>(in, count, rank.stream), 2 - rank.rank);
    expectAll(rank.get<int>(out, count, second), 0);
  });
}

/// Operations of a communicator follow one another, whatever their streams.
TEST(NcclStreams, OperationsFollowOneAnother) {
  expectRuns(3, [](Rank &rank) {
    Stream second = rank.makeStream();
    DeviceMemory memory = rank.put(filled(1));
    rank.allReduce(memory, count, rank.communicator, rank.stream);
    rank.allReduce(memory, count, rank.communicator, second);
    expectAll(rank.get<int>(memory, count, second), 9);
  });
}

/// A pipeline: each rank adds to what it receives, and sends it on.
TEST(NcclStreams, TransfersAndCollectives) {
  expectRuns(4, [](Rank &rank) {
    DeviceMemory memory = rank.allocate(count * 4);
    for (int round = 1; round <= 3; ++round) {
      if (rank.rank == 0)
        rank.write(memory, filled(round));
      else
        PPOPT_MUST(rank.receive(memory, count, rank.rank - 1));
      if (rank.rank < 3)
        PPOPT_MUST(rank.send(memory, count, rank.rank + 1));
      rank.allReduce(memory, count, rank.communicator, rank.stream);
      expectAll(rank.get<int>(memory, count), 4 * round);
    }
  });
}

/// Memory that is received is poisoned until the operation has ended.
TEST(NcclStreams, AMissingWaitShows) {
  auto program = [](Rank &rank) {
    Stream second = rank.makeStream();
    DeviceMemory send = rank.put(filled(1)), receive = rank.put(filled(7));
    rank.synchronize(rank.stream);
    PPOPT_MUST(nccl().allReduce(pointer(send), pointer(receive), count,
                                NcclType::i32, NcclReduction::sum,
                                rank.communicator, rank.stream));
    for (int each : rank.get<int>(receive, count, second))
      check(each == 2 || each == 7, "poison {}", each);
  };
  int seen = 0;
  for (int seed = 1; seed <= seeds; ++seed)
    seen += runRanks(Launch::threads, machine(2, seed), 2, program)
                .errors.find("poison -1") != std::string::npos;
  EXPECT_GT(seen, 0);
}

/// Nobody writes what is sent or received while the operation runs.
TEST(NcclStreams, AWriteIsSeen) {
  for (bool ofSent : {true, false}) {
    auto program = [&](Rank &rank) {
      Stream second = rank.makeStream();
      DeviceMemory send = rank.put(filled(1)), receive = rank.put(filled(7));
      rank.synchronize(rank.stream);
      PPOPT_MUST(nccl().allReduce(pointer(send), pointer(receive), count,
                                  NcclType::i32, NcclReduction::sum,
                                  rank.communicator, rank.stream));
      driver().memsetD8Async((ofSent ? send : receive) + 8, 3, 4, second);
      driver().streamSynchronize(second);
      driver().streamSynchronize(rank.stream);
    };
    int seen = 0;
    for (int seed = 1; seed <= seeds; ++seed)
      seen += runRanks(Launch::threads, machine(2, seed), 2, program, false)
                  .errors.find(fmt::format(
                      ", which it {}, was written by another operation while "
                      "it ran",
                      ofSent ? "sends" : "receives")) != std::string::npos;
    EXPECT_GT(seen, 0);
  }
}

/// Parts of sums are added in another order than that of the ranks, the same
/// one each time, and rounded each time.
template <typename Element>
void expectOrder(NcclType type, Element large, Element one, Element rounded,
                 Element exact) {
  expectRuns(
      3,
      [&](Rank &rank) {
        // Only (1 + 1) + large is exact.
        DeviceMemory memory =
            rank.put(std::vector<Element>(6, rank.rank == 0 ? large : one));
        PPOPT_MUST(nccl().allReduce(pointer(memory), pointer(memory), 6, type,
                                    NcclReduction::sum, rank.communicator,
                                    rank.stream));
        std::vector<Element> sums = rank.get<Element>(memory, 6);
        for (size_t i = 0; i < sums.size(); ++i)
          check(sums[i] == (i < 2 ? exact : rounded), "sum {} is {}", i,
                sums[i]);
      },
      fewSeeds);
}

TEST(NcclStreams, OrderOfAdditions) {
  expectOrder<float>(NcclType::f32, 0x1p24F, 1, 0x1p24F, 0x1p24F + 2);
  expectOrder<double>(NcclType::f64, 0x1p53, 1, 0x1p53, 0x1p53 + 2);
  // 256, 1, 256 and 258 as brain floats.
  expectOrder<uint16_t>(NcclType::bf16, 0x4380, 0x3f80, 0x4380, 0x4381);
}

/// Of a NaN and a number the number is the larger, as on GPUs.
TEST(NcclStreams, MaximumOfNaN) {
  expectRuns(
      2,
      [](Rank &rank) {
        DeviceMemory memory =
            rank.put(std::vector<float>(4, rank.rank ? -3.0F : NAN));
        PPOPT_MUST(nccl().allReduce(pointer(memory), pointer(memory), 4,
                                    NcclType::f32, NcclReduction::max,
                                    rank.communicator, rank.stream));
        for (float each : rank.get<float>(memory, 4))
          check(each == -3.0F, "{}", each);
      },
      fewSeeds);
}

/// Copies in, collectives on two streams, transfers and copies out in a graph
/// that is launched again and again, with calls between the launches.
void launchGraphs(Rank &rank, Communicator other) {
  Stream second = rank.makeStream();
  Event fork = rank.makeEvent(), joined = rank.makeEvent();
  DeviceMemory a = rank.allocate(count * 4), b = rank.allocate(count * 4),
               c = rank.allocate(count * 4);
  void *hostIn = nullptr, *hostOut = nullptr;
  PPOPT_MUST(driver().memAllocHost(&hostIn, count * 4));
  PPOPT_MUST(driver().memAllocHost(&hostOut, count * 8));
  auto *in = static_cast<int *>(hostIn), *out = static_cast<int *>(hostOut);
  PPOPT_MUST(
      driver().streamBeginCapture(rank.stream, CaptureMode::threadLocal));
  PPOPT_MUST(driver().memcpyHtoDAsync(a, in, count * 4, rank.stream));
  PPOPT_MUST(driver().memcpyDtoDAsync(b, a, count * 4, rank.stream));
  PPOPT_MUST(driver().eventRecord(fork, rank.stream));
  PPOPT_MUST(driver().streamWaitEvent(second, fork, 0));
  rank.allReduce(a, count, rank.communicator, rank.stream);
  rank.allReduce(b, count, other, second);
  rank.allReduce(b, count, rank.communicator, second);
  PPOPT_MUST(driver().eventRecord(joined, second));
  PPOPT_MUST(driver().streamWaitEvent(rank.stream, joined, 0));
  PPOPT_MUST(nccl().groupStart());
  PPOPT_MUST(rank.send(a, count, 1 - rank.rank));
  PPOPT_MUST(rank.receive(c, count, 1 - rank.rank));
  PPOPT_MUST(nccl().groupEnd());
  PPOPT_MUST(driver().memcpyDtoHAsync(out, b, count * 4, rank.stream));
  PPOPT_MUST(driver().memcpyDtoHAsync(out + count, c, count * 4, rank.stream));
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  PPOPT_MUST(driver().streamEndCapture(rank.stream, &graph));
  PPOPT_MUST(driver().graphInstantiate(&exec, graph, 0));
  for (int round = 1; round <= 4; ++round) {
    std::fill(in, in + count, round + 10 * rank.rank);
    for (int again = 0; again < (round == 3 ? 2 : 1); ++again)
      PPOPT_MUST(driver().graphLaunch(exec, rank.stream));
    DeviceMemory plain = rank.put(filled(1));
    rank.allReduce(plain, count, rank.communicator, rank.stream);
    rank.synchronize(rank.stream);
    expectAll({out, out + count}, 2 * (2 * round + 10));
    expectAll({out + count, out + 2 * count}, 2 * round + 10);
    expectAll(rank.get<int>(plain, count), 2);
  }
  PPOPT_MUST(driver().graphDestroy(graph));
  PPOPT_MUST(driver().graphExecDestroy(exec));
}

TEST(NcclStreams, CaptureAndLaunches) {
  expectRuns(2, [](Rank &rank) {
    Communicator other = rank.makeCommunicator();
    launchGraphs(rank, other);
    PPOPT_MUST(nccl().commDestroy(other));
  });
}

/// One thread has all ranks.
TEST(NcclStreams, RanksOfOneThread) {
  for (int seed = 1; seed <= seeds; ++seed)
    expectSuccess(run(machine(2, seed), [] {
      CommunicatorId id = makeId();
      std::vector<std::unique_ptr<Gpu>> gpus;
      Communicator communicators[2];
      PPOPT_MUST(nccl().groupStart());
      for (int rank = 0; rank < 2; ++rank) {
        gpus.push_back(std::make_unique<Gpu>(rank));
        PPOPT_MUST(nccl().commInitRank(&communicators[rank], 2, id, rank));
      }
      PPOPT_MUST(nccl().groupEnd());
      DeviceMemory memory[2];
      for (int rank = 0; rank < 2; ++rank) {
        PPOPT_MUST(driver().contextSetCurrent(gpus[rank]->context));
        memory[rank] = gpus[rank]->put(filled(rank + 1));
      }
      PPOPT_MUST(nccl().groupStart());
      for (int rank = 0; rank < 2; ++rank) {
        PPOPT_MUST(driver().contextSetCurrent(gpus[rank]->context));
        PPOPT_MUST(nccl().allReduce(
            pointer(memory[rank]), pointer(memory[rank]), count, NcclType::i32,
            NcclReduction::sum, communicators[rank], gpus[rank]->stream));
      }
      PPOPT_MUST(nccl().groupEnd());
      for (int rank = 0; rank < 2; ++rank) {
        PPOPT_MUST(driver().contextSetCurrent(gpus[rank]->context));
        expectAll(gpus[rank]->get<int>(memory[rank], count), 3);
        PPOPT_MUST(nccl().commDestroy(communicators[rank]));
      }
    }));
}

} // namespace
