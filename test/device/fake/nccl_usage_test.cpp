//===- nccl_usage_test.cpp - Single calls of the fake NCCL ----------------===//

#include "fake/test/expect.h"
#include "fake/test/ranks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <regex>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::cuda::fake::test;

namespace {

/// A call that one rank is refused, and what the message says.
struct Refusal {
  const char *name;
  std::function<NcclResult(Rank &)> call;
  NcclResult wanted;
  std::string message;
};

void PrintTo(const Refusal &refusal, std::ostream *out) {
  *out << refusal.name;
}

class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, IsSaid) {
  const Refusal &refusal = GetParam();
  Outcome outcome = runRanks(Launch::threads, machine(2), 1, [&](Rank &rank) {
    NcclResult result = refusal.call(rank);
    check(result == refusal.wanted, "returned {}", int(result));
    std::string last = nccl().getLastError(rank.communicator);
    check(std::regex_search(last, std::regex(refusal.message)),
          "the last error is '{}'", last);
    // Nothing was enqueued, and the communicator is as good as before.
    DeviceMemory memory = rank.put(std::vector<int>(4, 3));
    rank.allReduce(memory, 4, rank.communicator, rank.stream);
    check(rank.get<int>(memory, 4) == std::vector<int>(4, 3), "a wrong sum");
  });
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_TRUE(std::regex_search(
      outcome.errors, std::regex("^error: fake CUDA: nccl[A-Za-z]*: " +
                                 refusal.message + "\n$")))
      << outcome.errors;
}

NcclResult gather(Rank &rank, DeviceMemory send, DeviceMemory receive,
                  size_t count, int type = int(NcclType::i32)) {
  return nccl().allGather(pointer(send), pointer(receive), count,
                          NcclType(type), rank.communicator, rank.stream);
}

const Refusal refusals[] = {
    {"AnotherContext",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       Gpu other(1);
       NcclResult result =
           nccl().allGather(pointer(memory), pointer(memory), 4, NcclType::i32,
                            rank.communicator, other.stream);
       PPOPT_MUST(driver().contextSetCurrent(rank.context));
       return result;
     },
     NcclResult::invalidUsage,
     "rank 0 of communicator 1 \\(GPU 0\\) is used while the context of GPU 1 "
     "is current"},
    {"AStreamOfAnotherGpu",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       Gpu other(1);
       PPOPT_MUST(driver().contextSetCurrent(rank.context));
       return nccl().allGather(pointer(memory), pointer(memory), 4,
                               NcclType::i32, rank.communicator, other.stream);
     },
     NcclResult::invalidArgument,
     "stream 1 of GPU 1 is used while the context of GPU 0 is current"},
    {"TheDefaultStream",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       return nccl().allGather(pointer(memory), pointer(memory), 4,
                               NcclType::i32, rank.communicator, nullptr);
     },
     NcclResult::invalidArgument, "the default stream.*"},
    {"MemoryOfAnotherGpu",
     [](Rank &rank) {
       DeviceMemory memory = Gpu(1).allocate(64);
       PPOPT_MUST(driver().contextSetCurrent(rank.context));
       return gather(rank, memory, memory, 4);
     },
     NcclResult::invalidArgument,
     "the send buffer of ncclAllGather of 4 i32 is 16 bytes at .*, where "
     "nothing is allocated"},
    {"BytesBeyondAnAllocation",
     [](Rank &rank) {
       DeviceMemory a = rank.allocate(64), b = rank.allocate(60);
       return gather(rank, a, b, 16);
     },
     NcclResult::invalidArgument,
     "the receive buffer of ncclAllGather of 16 i32 is bytes \\[0, 64\\) of "
     "allocation 2 of GPU 0, which has 60"},
    {"HostMemory",
     [](Rank &rank) {
       static int host[16];
       return nccl().allGather(host, host, 16, NcclType::i32, rank.communicator,
                               rank.stream);
     },
     NcclResult::invalidArgument, "the send buffer .* nothing is allocated"},
    {"OverlappingBuffers",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       return gather(rank, memory, memory + 4, 4);
     },
     NcclResult::invalidArgument,
     "ncclAllGather of 4 i32: the buffers overlap, 16 bytes from .* on and 16 "
     "from .*, and this is not in place"},
    {"Alignment",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       return gather(rank, memory + 2, memory + 32, 4);
     },
     NcclResult::invalidArgument, "the send buffer .* is not aligned"},
    {"ATypeThatIsNotHere",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       return gather(rank, memory, memory, 4, 6);
     },
     NcclResult::invalidArgument, "type 6 or reduction 0 is none that is here"},
    {"APeerThatIsNotThere",
     [](Rank &rank) { return rank.send(rank.allocate(64), 4, 1); },
     NcclResult::invalidArgument, "communicator 1 has no rank 1"},
    {"ASendToItself",
     [](Rank &rank) { return rank.send(rank.allocate(64), 4, 0); },
     NcclResult::invalidUsage,
     "rank 0 of communicator 1 \\(GPU 0\\) sends 1 times to itself in a group, "
     "and receives 0 times"},
    {"AGroupThatHasNotBegun", [](Rank &) { return nccl().groupEnd(); },
     NcclResult::invalidUsage, "no group has begun"},
    {"AStreamThatIsDestroyedInAGroup",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       Stream other = rank.makeStream();
       PPOPT_MUST(nccl().groupStart());
       PPOPT_MUST(nccl().allGather(pointer(memory), pointer(memory), 4,
                                   NcclType::i32, rank.communicator, other));
       PPOPT_MUST(driver().streamDestroy(other));
       return nccl().groupEnd();
     },
     NcclResult::invalidArgument,
     "0x[0-9a-f]* is no stream, or one that is destroyed"},
    {"AGroupWithAnError",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       PPOPT_MUST(nccl().groupStart());
       PPOPT_MUST(gather(rank, memory, memory + 32, 4));
       check(gather(rank, memory, memory, 400) == NcclResult::invalidArgument,
             "a large gather");
       return nccl().groupEnd();
     },
     NcclResult::invalidArgument, "the send buffer .* which has 64"},
    {"BuffersThatAGroupReceivesTwice",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       PPOPT_MUST(nccl().groupStart());
       PPOPT_MUST(gather(rank, memory, memory + 16, 4));
       PPOPT_MUST(gather(rank, memory + 32, memory + 28, 1));
       return nccl().groupEnd();
     },
     NcclResult::invalidUsage,
     "ncclAllGather of 4 i32 receives what ncclAllGather of 1 i32 of the same "
     "group sends or receives: their order is not known"},
    {"AGroupThatIsHalfCaptured",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       Stream other = rank.makeStream();
       PPOPT_MUST(driver().streamBeginCapture(other, CaptureMode::threadLocal));
       PPOPT_MUST(nccl().groupStart());
       PPOPT_MUST(gather(rank, memory, memory, 4));
       std::swap(rank.stream, other);
       PPOPT_MUST(gather(rank, memory + 32, memory + 32, 4));
       std::swap(rank.stream, other);
       NcclResult result = nccl().groupEnd();
       Graph graph = nullptr;
       PPOPT_MUST(driver().streamEndCapture(other, &graph));
       return result;
     },
     NcclResult::invalidUsage,
     "the streams of a group are all captured in one graph, or none is: stream "
     "1 of GPU 0 and stream 2 of GPU 0 differ"},
    {"JoiningInACapture",
     [](Rank &rank) {
       PPOPT_MUST(
           driver().streamBeginCapture(rank.stream, CaptureMode::threadLocal));
       Communicator made = nullptr;
       NcclResult result = nccl().commInitRank(&made, 1, makeId(), 0);
       Graph graph = nullptr;
       driver().streamEndCapture(rank.stream, &graph);
       return result;
     },
     NcclResult::unhandledCudaError,
     "ncclCommInitRank while this thread captures stream 1 of GPU 0: the "
     "capture is invalid(\n.*)?"},
    {"UseBeforeTheGroupEnds",
     [](Rank &rank) {
       DeviceMemory memory = rank.allocate(64);
       PPOPT_MUST(nccl().groupStart());
       Communicator made = nullptr;
       PPOPT_MUST(nccl().commInitRank(&made, 1, makeId(), 0));
       NcclResult result = nccl().allGather(pointer(memory), pointer(memory), 4,
                                            NcclType::i32, made, rank.stream);
       check(nccl().groupEnd() == result, "the group has another error");
       return result;
     },
     NcclResult::invalidUsage,
     "rank 0 of communicator 2 \\(GPU 0\\) is used before the group that makes "
     "it has ended"},
};
INSTANTIATE_TEST_SUITE_P(Nccl, Refusals, testing::ValuesIn(refusals),
                         [](const testing::TestParamInfo<Refusal> &info) {
                           return info.param.name;
                         });

TEST(NcclUsage, VersionAndTexts) {
  Outcome outcome = run(machine(1), [] {
    int version = 0;
    PPOPT_MUST(nccl().getVersion(&version));
    check(version / 10000 == 2 && version / 100 % 100 == 28, "version {}",
          version);
    check(std::string(nccl().getErrorString(NcclResult::invalidUsage)) ==
              "invalid usage",
          "the text");
  });
  expectSuccess(outcome);
}

TEST(NcclUsage, AnOperationOfNothing) {
  for (Launch launch : {Launch::threads, Launch::processes}) {
    Outcome outcome = runRanks(launch, machine(2), 2, [](Rank &rank) {
      DeviceMemory memory = rank.put(std::vector<int>(4, 1));
      if (rank.rank == 0) // as NCCL, nobody waits for it
        rank.allReduce(memory, 0, rank.communicator, rank.stream);
      PPOPT_MUST(rank.rank ? rank.receive(memory, 0, 0)
                           : rank.send(memory, 0, 1));
      rank.allReduce(memory, 4, rank.communicator, rank.stream);
      check(rank.get<int>(memory, 4) == std::vector<int>(4, 2), "a wrong sum");
    });
    expectSuccess(outcome);
  }
}

TEST(NcclUsage, PlantedFailure) {
  Variables variables = machine(1);
  variables["PPOPT_FAKE_CUDA_PLANT"] = "fail:ncclAllReduce:2:3";
  Outcome outcome = runRanks(Launch::threads, variables, 1, [](Rank &rank) {
    DeviceMemory memory = rank.put(std::vector<int>(4, 3));
    for (int call = 1; call <= 3; ++call) {
      NcclResult result =
          nccl().allReduce(pointer(memory), pointer(memory), 4, NcclType::i32,
                           NcclReduction::sum, rank.communicator, rank.stream);
      check(result ==
                (call == 2 ? NcclResult::internalError : NcclResult::success),
            "call {} returned {}", call, int(result));
    }
  });
  expectSuccess(outcome);
}

/// The order of two calls of one rank.
TEST(NcclUsage, PlantedSwap) {
  auto program = [](Rank &rank) {
    DeviceMemory memory = rank.put(std::vector<int>(64, 1));
    for (size_t count = 1; count <= 8; ++count)
      nccl().allReduce(pointer(memory), pointer(memory), count, NcclType::i32,
                       NcclReduction::sum, rank.communicator, rank.stream);
    driver().streamSynchronize(rank.stream);
  };
  Variables variables = machine(2, 1, "connect=early");
  EXPECT_EQ(runRanks(Launch::threads, variables, 2, program).errors, "");
  for (int number = 1; number <= 4; ++number) {
    int gpu = number % 2;
    variables["PPOPT_FAKE_CUDA_PLANT"] =
        fmt::format("swap-nccl:{}:{}", gpu, number);
    Outcome outcome = runRanks(Launch::threads, variables, 2, program, false);
    EXPECT_TRUE(std::regex_search(
        outcome.errors,
        std::regex("^error: fake CUDA: communicator 1: the counts of ranks "
                   "differ: .* All ranks must call the operations of a "
                   "communicator in one order\n$")))
        << number << outcome.errors;
  }
}

TEST(NcclUsage, PlantedSwapOfTheLastCall) {
  Variables variables = machine(1);
  variables["PPOPT_FAKE_CUDA_PLANT"] = "swap-nccl:0:1";
  Outcome outcome = runRanks(Launch::threads, variables, 1, [](Rank &rank) {
    rank.allReduce(rank.put(std::vector<int>(4, 1)), 4, rank.communicator,
                   rank.stream);
  });
  EXPECT_EQ(outcome.status, faultStatus);
  EXPECT_NE(outcome.errors.find("no call of its thread came after the one that "
                                "swap-nccl holds back"),
            std::string::npos)
      << outcome.errors;
}

TEST(NcclUsage, AWrongPlant) {
  Variables variables = machine(1);
  variables["PPOPT_FAKE_CUDA_PLANT"] = "swap-ncl:1";
  Outcome outcome = run(variables, [] { Gpu gpu(0); });
  EXPECT_EQ(outcome.status, faultStatus);
  EXPECT_NE(outcome.errors.find("'swap-ncl:1' is not drop-wait:N"),
            std::string::npos)
      << outcome.errors;
}

TEST(NcclUsage, Report) {
  std::string file =
      fmt::format("{}ppopt-fake-nccl-{}.json", testing::TempDir(), getpid());
  std::filesystem::remove(file);
  Variables variables = machine(2);
  variables["PPOPT_FAKE_CUDA_REPORT"] = file;
  Outcome outcome = runRanks(Launch::threads, variables, 2, [](Rank &rank) {
    DeviceMemory memory = rank.put(std::vector<int>(64, 1));
    rank.allReduce(memory, 10, rank.communicator, rank.stream);
    PPOPT_MUST(gather(rank, memory, memory + 128, 3));
    Graph graph = nullptr;
    GraphExec exec = nullptr;
    PPOPT_MUST(
        driver().streamBeginCapture(rank.stream, CaptureMode::threadLocal));
    PPOPT_MUST(rank.rank ? rank.receive(memory, 5, 0)
                         : rank.send(memory, 5, 1));
    PPOPT_MUST(driver().streamEndCapture(rank.stream, &graph));
    PPOPT_MUST(driver().graphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 3; ++launch)
      PPOPT_MUST(driver().graphLaunch(exec, rank.stream));
    PPOPT_MUST(driver().graphDestroy(graph));
    PPOPT_MUST(driver().graphExecDestroy(exec));
  });
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  nlohmann::json report = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  EXPECT_EQ(report["collectives"], 4);
  EXPECT_EQ(report["collective bytes"], 2 * (40 + 24));
  EXPECT_EQ(report["transfers"], 3);
  EXPECT_EQ(report["transfer bytes"], 60);
  EXPECT_EQ(report["calls"]["ncclAllReduce"], 2);
  EXPECT_EQ(report["never ran"], 0);
}

} // namespace
