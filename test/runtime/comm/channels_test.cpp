//===- channels_test.cpp - The actions start and wait ---------------------===//

#include "comm/channels.h"
#include "comm/thread_transport.h"

#include "inputs.h"
#include "message_of.h"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <gtest/gtest.h>
#include <new>

using namespace ppopt::comm;
using namespace ppopt::geometry;
using namespace ppopt::comm::test;

// The thread sanitizer's own operator new cannot be replaced.
#if defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#define COUNTS_ALLOCATIONS !__has_feature(thread_sanitizer)
#else
#define COUNTS_ALLOCATIONS 1
#endif

#if COUNTS_ALLOCATIONS
/// Allocations of this program so far, by any thread.
static std::atomic<int64_t> allocations{0};

void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

/// A collective's memory.
struct Buffer {
  Buffer(int rank, int64_t elements, ElementType type, int n)
      : data(makeBuffer(rank, elements, type, exactValue)),
        scratch(static_cast<size_t>(
                    scratchElements(Collective::AllReduce, elements, n)) *
                sizeOf(type)) {}
  std::vector<char> data;
  std::vector<char> scratch;
};

CollectiveSpec specOf(Buffer &buffer, const char *name,
                      std::vector<std::string> axes, int channel,
                      int64_t elements, ElementType type) {
  CollectiveSpec spec;
  spec.name = name;
  spec.group.axes = std::move(axes);
  spec.channel = channel;
  spec.data = buffer.data.data();
  spec.elements = elements;
  spec.type = type;
  spec.scratch = buffer.scratch.data();
  spec.scratchBytes = buffer.scratch.size();
  return spec;
}

} // namespace

TEST(Channels, SumsAlongEachAxis) {
  // Rank = 3·dp + pp.
  runThreadRanks(6, [](Transport &transport) {
    int rank = transport.rank();
    Buffer dp(rank, 10, ElementType::F32, 2);
    Buffer pp(rank, 10, ElementType::F64, 3);
    Buffer all(rank, 1, ElementType::F64, 6);
    Channels channels(transport, Mesh({{"dp", 2}, {"pp", 3}}));
    int dpSum =
        channels.define(specOf(dp, "dp", {"dp"}, 0, 10, ElementType::F32));
    int ppSum =
        channels.define(specOf(pp, "pp", {"pp"}, 1, 10, ElementType::F64));
    int allSum = channels.define(
        specOf(all, "norm", {"dp", "pp"}, 2, 1, ElementType::F64));
    for (int collective : {dpSum, ppSum, allSum})
      channels.start(collective);
    for (int collective : {allSum, dpSum, ppSum})
      channels.wait(collective);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(get(dp.data, i, ElementType::F32),
                exactValue(rank % 3, i) + exactValue(3 + rank % 3, i));
      int first = rank / 3 * 3;
      EXPECT_EQ(get(pp.data, i, ElementType::F64),
                exactValue(first, i) + exactValue(first + 1, i) +
                    exactValue(first + 2, i));
    }
    double sum = 0;
    for (int member = 0; member < 6; ++member)
      sum += exactValue(member, 0);
    EXPECT_EQ(get(all.data, 0, ElementType::F64), sum);
    EXPECT_EQ(transport.counters().bytesSent, channels.bytesSent(dpSum) +
                                                  channels.bytesSent(ppSum) +
                                                  channels.bytesSent(allSum));
  });
}

// Rank 0 waits for the last collective first and rank 1 the other way round:
// each wait must move the others, and a channel's queue keeps its order.
TEST(Channels, SeveralInFlightWaitedInAnyOrder) {
  runThreadRanks(2, [](Transport &transport) {
    constexpr int count = 6;
    constexpr int64_t elements = 70000;
    std::vector<Buffer> buffers;
    for (int i = 0; i < count; ++i)
      buffers.emplace_back(transport.rank() + 10 * i, elements,
                           ElementType::I64, 2);
    Channels channels(transport, Mesh({{"dp", 2}}));
    for (int i = 0; i < count; ++i)
      channels.define(specOf(buffers[i], "bucket", {"dp"}, i % 2, elements,
                             ElementType::I64));
    for (int i = 0; i < count; ++i)
      channels.start(i);
    for (int i = 0; i < count; ++i)
      channels.wait(transport.rank() == 0 ? count - 1 - i : i);
    for (int i = 0; i < count; ++i)
      for (int64_t j = 0; j < elements; ++j)
        ASSERT_EQ(get(buffers[i].data, j, ElementType::I64),
                  exactValue(10 * i, j) + exactValue(10 * i + 1, j));
  });
}

/// Of two kinds on two channels, at other addresses in each round.
TEST(Channels, CollectivesOnMemoryGivenAtTheirStart) {
  for (int64_t elements : {3, 70002})
    runThreadRanks(3, [&](Transport &transport) {
      int rank = transport.rank();
      Channels channels(transport, Mesh({{"dp", 3}}));
      CollectiveSpec spec;
      spec.name = "sum";
      spec.group.axes = {"dp"};
      spec.channel = 1;
      spec.elements = elements;
      spec.kind = Collective::ReduceScatter;
      int sum = channels.define(spec);
      spec.name = "gather";
      spec.channel = 2;
      spec.kind = Collective::AllGather;
      int gather = channels.define(spec);
      std::deque<Buffer> buffers;
      for (int round = 0; round < 3; ++round) {
        Buffer &summed = buffers.emplace_back(rank + 10 * round, elements,
                                              ElementType::F32, 3),
               &gathered = buffers.emplace_back(rank + 10 * round, elements,
                                                ElementType::F32, 3);
        uint64_t before = transport.counters().bytesSent;
        channels.start(sum, summed.data.data(), summed.scratch.data());
        channels.start(gather, gathered.data.data(), nullptr);
        channels.wait(round % 2 ? sum : gather);
        channels.wait(round % 2 ? gather : sum);
        EXPECT_EQ(transport.counters().bytesSent - before,
                  channels.bytesSent(sum) + channels.bytesSent(gather));
        auto valueOf = [&](int member, int64_t i) {
          return exactValue(member + 10 * round, i);
        };
        for (int owner = 0; owner < 3; ++owner)
          for (int64_t i = chunkBegin(elements, 3, owner);
               i < chunkBegin(elements, 3, owner + 1); ++i) {
            ASSERT_EQ(get(gathered.data, i, ElementType::F32),
                      valueOf(owner, i));
            if (owner == rank)
              ASSERT_EQ(get(summed.data, i, ElementType::F32),
                        valueOf(0, i) + valueOf(1, i) + valueOf(2, i));
          }
      }
    });
}

TEST(Channels, MemoryIsGivenOrDefined) {
  runThreadRanks(2, [](Transport &transport) {
    Buffer buffer(transport.rank(), 4, ElementType::F32, 2);
    Channels channels(transport, Mesh({{"dp", 2}}));
    CollectiveSpec spec = specOf(buffer, "own", {"dp"}, 0, 4, ElementType::F32);
    int own = channels.define(spec);
    spec.name = "given";
    spec.data = spec.scratch = nullptr;
    spec.scratchBytes = 0;
    int given = channels.define(spec);
    auto errorOf = [&](auto start) {
      return messageOf<std::logic_error>(start);
    };
    void *data = buffer.data.data(), *scratch = buffer.scratch.data();
    EXPECT_EQ(errorOf([&] { channels.start(own, data, scratch); }),
              "collective 'own' is given memory at its start, and was defined "
              "with its own");
    EXPECT_EQ(errorOf([&] { channels.start(given); }),
              "collective 'given' is started without memory, and was defined "
              "without");
    EXPECT_EQ(errorOf([&] { channels.start(given, data, nullptr); }),
              "collective 'given' is started without scratch memory");
    channels.start(given, data, scratch);
    EXPECT_EQ(errorOf([&] { channels.start(given, data, scratch); }),
              "collective 'given' is started again before its wait");
    channels.wait(given);
    EXPECT_EQ(get(buffer.data, 3, ElementType::F32),
              exactValue(0, 3) + exactValue(1, 3));
  });
}

TEST(Channels, ProgressAloneFinishesACollective) {
  runThreadRanks(2, [](Transport &transport) {
    Buffer buffer(transport.rank(), 100, ElementType::F32, 2);
    Channels channels(transport, Mesh({{"dp", 2}}));
    int sum = channels.define(
        specOf(buffer, "sum", {"dp"}, 0, 100, ElementType::F32));
    channels.start(sum);
    while (!channels.done(sum))
      channels.progress();
    channels.wait(sum);
    EXPECT_EQ(get(buffer.data, 0, ElementType::F32),
              exactValue(0, 0) + exactValue(1, 0));
  });
}

/// What was sent and what is pending are together what the operations send,
/// wherever they are: posted in part, queued, posted whole, or done.
TEST(Channels, PendingBytesAreThoseNotYetPosted) {
  runThreadRanks(4, [](Transport &transport) {
    constexpr int64_t elements = 600001; // in several lanes
    int rank = transport.rank(), peer = rank ^ 1;
    std::vector<Buffer> buffers;
    for (int i = 0; i < 4; ++i)
      buffers.emplace_back(rank, elements, ElementType::F32, 4);
    Channels channels(transport, Mesh({{"dp", 4}}));
    uint64_t all = 0;
    const Collective kinds[] = {Collective::AllGather, Collective::AllReduce,
                                Collective::ReduceScatter,
                                Collective::Broadcast};
    for (int i = 0; i < 4; ++i) {
      CollectiveSpec spec = specOf(buffers[i], "bucket", {"dp"}, i / 2,
                                   elements, ElementType::F32);
      spec.kind = kinds[i];
      all += channels.bytesSent(channels.define(spec));
    }
    float message[2] = {};
    for (bool sends : {true, false}) {
      TransferSpec spec;
      spec.sends = sends;
      spec.peer = peer;
      spec.channel = 7;
      spec.data = &message[sends];
      spec.bytes = sizeof(float);
      all += channels.bytesSent(channels.define(spec));
    }
    channels.open(2);

    for (int round = 0; round < 2; ++round) {
      uint64_t before = transport.counters().bytesSent;
      auto sentAndPending = [&] {
        return transport.counters().bytesSent - before +
               channels.pendingBytes();
      };
      EXPECT_EQ(sentAndPending(), 0u);
      for (int operation = 0; operation < 6; ++operation)
        channels.start(operation);
      EXPECT_EQ(sentAndPending(), all);
      // Two rounds of the first, and all of those that are queued after it.
      EXPECT_GE(channels.pendingBytes(),
                channels.bytesSent(0) / 2 + channels.bytesSent(1));
      for (int operation : {4, 0, 3, 1, 5, 2}) {
        channels.wait(operation);
        EXPECT_EQ(sentAndPending(), all);
      }
      EXPECT_EQ(channels.pendingBytes(), 0u);
    }
  });
}

TEST(Channels, AreStartedUntilTheyAreWaitedFor) {
  for (int ranks : {1, 2})
    runThreadRanks(ranks, [&](Transport &transport) {
      Buffer buffer(transport.rank(), 100, ElementType::F32, ranks);
      Channels channels(transport, Mesh({{"dp", ranks}}));
      int sum = channels.define(
          specOf(buffer, "sum", {"dp"}, 0, 100, ElementType::F32));
      for (int round = 0; round < 2; ++round) {
        EXPECT_FALSE(channels.isStarted(sum));
        channels.start(sum);
        EXPECT_TRUE(channels.isStarted(sum));
        while (!channels.done(sum))
          channels.progress();
        EXPECT_TRUE(channels.isStarted(sum));
        channels.wait(sum);
      }
      EXPECT_FALSE(channels.isStarted(sum));
    });
}

#if COUNTS_ALLOCATIONS
TEST(Channels, AllocateNothingInAStep) {
  constexpr int64_t elements = 300000;
  int64_t before = 0;
  int64_t after = 0;
  runThreadRanks(3, [&](Transport &transport) {
    Buffer first(transport.rank(), elements, ElementType::F32, 3);
    Buffer second(transport.rank(), 5, ElementType::F32, 3);
    Channels channels(transport, Mesh({{"dp", 3}}));
    int big = channels.define(
        specOf(first, "big", {"dp"}, 0, elements, ElementType::F32));
    int small = channels.define(
        specOf(second, "small", {"dp"}, 0, 5, ElementType::F32));
    auto step = [&] {
      channels.start(big);
      channels.start(small);
      channels.progress();
      channels.wait(big);
      channels.wait(small);
    };
    step();
    transport.barrier();
    if (transport.rank() == 0)
      before = allocations;
    transport.barrier();
    for (int i = 0; i < 10; ++i)
      step();
    transport.barrier();
    if (transport.rank() == 0)
      after = allocations;
    transport.barrier();
  });
  EXPECT_GT(before, 0);
  EXPECT_EQ(after - before, 0);
}
#endif

TEST(Channels, OneRankNeedsNoScratchAndSendsNothing) {
  runThreadRanks(1, [](Transport &transport) {
    float value = 3;
    Channels channels(transport, Mesh({{"dp", 1}}));
    CollectiveSpec spec;
    spec.group.axes = {"dp"};
    spec.data = &value;
    spec.elements = 1;
    int sum = channels.define(spec);
    channels.start(sum);
    channels.wait(sum);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(transport.counters().bytesSent, 0u);
  });
}

TEST(Channels, RefuseWrongDefinitions) {
  runThreadRanks(2, [](Transport &transport) {
    Buffer buffer(0, 10, ElementType::F32, 2);
    Channels channels(transport, Mesh({{"dp", 2}, {"pp", 1}}));
    auto message = [&](const CollectiveSpec &spec) {
      return messageOf<std::invalid_argument>([&] { channels.define(spec); });
    };
    CollectiveSpec good = specOf(buffer, "g0", {"dp"}, 0, 10, ElementType::F32);
    channels.define(good);
    CollectiveSpec bad = good;
    bad.scratchBytes = 19;
    EXPECT_EQ(message(bad), "collective 'g0': it has 19 bytes of scratch "
                            "memory and needs 20");
    bad = good;
    bad.group.axes = {"pp"};
    EXPECT_EQ(message(bad), "collective 'g0' uses channel 0 over the ranks " +
                                std::to_string(transport.rank()) +
                                ", but the channel belongs to the ranks 0, 1");
    bad = good;
    bad.group.axes = {"tp"};
    bad.channel = 1;
    EXPECT_EQ(message(bad), "the mesh has no axis 'tp'; its axes are: dp, pp");
    bad.channel = -1;
    EXPECT_NE(message(bad).find("channel -1"), std::string::npos);
    EXPECT_EQ(messageOf<std::invalid_argument>(
                  [&] { Channels(transport, Mesh({{"dp", 3}})); }),
              "the mesh has 3 ranks, the job 2");
    EXPECT_EQ(messageOf<std::invalid_argument>(
                  [&] { Channels(transport, Mesh({{"dp", 2}, {"dp", 1}})); }),
              "mesh axis 'dp' is named twice");
    EXPECT_NE(messageOf<std::invalid_argument>([&] {
                Channels(transport, Mesh({{"dp", 2}}), Collectives::Native);
              }).find("use --collectives=ring"),
              std::string::npos);
  });
}

TEST(Channels, RefuseStartAndWaitOutOfTurn) {
  runThreadRanks(1, [](Transport &transport) {
    float value = 0;
    Channels channels(transport, Mesh({{"dp", 1}}));
    CollectiveSpec spec;
    spec.name = "g0";
    spec.group.axes = {"dp"};
    spec.data = &value;
    spec.elements = 1;
    int sum = channels.define(spec);
    EXPECT_EQ(messageOf<std::logic_error>([&] { channels.wait(sum); }),
              "collective 'g0' is waited for and was not started");
    channels.start(sum);
    EXPECT_EQ(messageOf<std::logic_error>([&] { channels.start(sum); }),
              "collective 'g0' is started again before its wait");
  });
}

TEST(Channels, AFailureEndsAWait) {
  try {
    runThreadRanks(3, [](Transport &transport) {
      Buffer buffer(transport.rank(), 1000000, ElementType::F32, 3);
      Channels channels(transport, Mesh({{"dp", 3}}));
      int sum = channels.define(
          specOf(buffer, "sum", {"dp"}, 0, 1000000, ElementType::F32));
      channels.start(sum);
      if (transport.rank() == 1)
        throw std::runtime_error("out of memory");
      channels.wait(sum);
    });
    FAIL() << "no failure";
  } catch (const RankFailure &failure) {
    EXPECT_STREQ(failure.what(), "rank 1: out of memory");
  }
}
