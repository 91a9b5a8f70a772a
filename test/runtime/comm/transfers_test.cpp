//===- transfers_test.cpp - Transfers beside collectives ------------------===//

#include "comm/channels.h"
#include "comm/thread_transport.h"

#include "message_of.h"

#include <atomic>
#include <gtest/gtest.h>
#include <vector>

using namespace ppopt::comm;
using ppopt::comm::test::messageOf;
using ppopt::geometry::Mesh;

// A sanitizer's own memcpy cannot be replaced.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define COUNTS_COPIES 0
#elif defined(__has_feature)
#define COUNTS_COPIES                                                          \
  !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
#else
#define COUNTS_COPIES 1
#endif
#if !defined(__x86_64__)
#undef COUNTS_COPIES
#define COUNTS_COPIES 0
#endif

#if COUNTS_COPIES
/// Bytes that copies of a page or more have moved, in any thread.
static std::atomic<size_t> copiedBytes{0};

static void *copyForwards(void *to, const void *from, size_t bytes) {
  if (bytes >= 4096)
    copiedBytes += bytes;
  void *start = to;
  // A loop would be compiled to a call of memcpy.
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return start;
}

extern "C" void *memcpy(void *to, const void *from, size_t bytes) {
  return copyForwards(to, from, bytes);
}

extern "C" void *memmove(void *to, const void *from, size_t bytes) {
  if (to <= from || static_cast<const char *>(from) + bytes <= to)
    return copyForwards(to, from, bytes);
  if (bytes >= 4096)
    copiedBytes += bytes;
  void *end = static_cast<char *>(to) + bytes - 1;
  const void *last = static_cast<const char *>(from) + bytes - 1;
  asm volatile("std; rep movsb; cld"
               : "+D"(end), "+S"(last), "+c"(bytes)
               :
               : "memory");
  return to;
}
#endif

namespace {

TransferSpec endOf(std::vector<int> &buffer, bool sends, int peer,
                   int channel = 0) {
  TransferSpec spec;
  spec.name = "x0";
  spec.sends = sends;
  spec.peer = peer;
  spec.channel = channel;
  spec.data = buffer.data();
  spec.bytes = buffer.size() * sizeof(int);
  return spec;
}

Mesh chain(int places) { return Mesh({{"dp", 1}, {"pp", places}}); }

} // namespace

TEST(Transfers, MatchInTheOrderOfTheirStarts) {
  constexpr int count = 20, elements = 1000;
  runThreadRanks(2, [&](Transport &transport) {
    int rank = transport.rank();
    std::vector<std::vector<int>> buffers;
    for (int i = 0; i < count; ++i)
      buffers.emplace_back(elements, rank == 0 ? i : -1);
    Channels channels(transport, chain(2));
    for (std::vector<int> &buffer : buffers)
      channels.define(endOf(buffer, rank == 0, 1 - rank));
    channels.open(count);
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < count; ++i)
        channels.start(i);
      // Waits may come in any order.
      for (int i = 0; i < count; ++i)
        channels.wait(rank == 0 ? i : count - 1 - i);
      for (int i = 0; i < count; ++i)
        EXPECT_EQ(buffers[i], std::vector<int>(elements, i));
    }
    EXPECT_EQ(transport.counters().bytesSent,
              rank == 0 ? 3u * count * elements * sizeof(int) : 0u);
    EXPECT_EQ(channels.bytesSent(0), rank == 0 ? elements * sizeof(int) : 0u);
  });
}

TEST(Transfers, ProgressAloneFinishesThem) {
  runThreadRanks(2, [](Transport &transport) {
    int rank = transport.rank();
    std::vector<int> buffer(10, rank);
    Channels channels(transport, chain(2));
    int end = channels.define(endOf(buffer, rank == 0, 1 - rank));
    channels.open(1);
    for (int step = 0; step < 100; ++step) {
      channels.start(end);
      while (!channels.done(end))
        channels.progress();
      channels.wait(end);
    }
    EXPECT_EQ(buffer, std::vector<int>(10, 0));
  });
}

TEST(Transfers, AWaitMovesCollectivesToo) {
  // Rank 1 waits for what rank 0 sends only after the sum, which needs rank 1.
  runThreadRanks(2, [](Transport &transport) {
    int rank = transport.rank();
    std::vector<int> buffer(10, rank);
    std::vector<float> summed(1000, 1), scratch(1000);
    Channels channels(transport, chain(2));
    int end = channels.define(endOf(buffer, rank == 0, 1 - rank));
    CollectiveSpec spec;
    spec.group.axes = {"pp"};
    spec.channel = 1;
    spec.data = summed.data();
    spec.elements = 1000;
    spec.scratch = scratch.data();
    spec.scratchBytes = 4000;
    int sum = channels.define(spec);
    channels.open(1);
    channels.start(sum);
    if (rank == 0)
      channels.wait(sum);
    channels.start(end);
    channels.wait(end);
    if (rank == 1)
      channels.wait(sum);
    EXPECT_EQ(buffer[9], 0);
    EXPECT_EQ(summed[999], 2);
  });
}

#if COUNTS_COPIES
TEST(Transfers, AreOneCopyBetweenThreads) {
  constexpr size_t elements = 1 << 18;
  for (bool receiveFirst : {false, true})
    runThreadRanks(2, [&](Transport &transport) {
      int rank = transport.rank();
      std::vector<int> buffer(elements, rank);
      Channels channels(transport, chain(2));
      int end = channels.define(endOf(buffer, rank == 0, 1 - rank));
      channels.open(1);
      transport.barrier();
      size_t before = copiedBytes;
      transport.barrier();
      if ((rank == 1) == receiveFirst)
        channels.start(end);
      transport.barrier();
      if ((rank == 1) != receiveFirst)
        channels.start(end);
      channels.wait(end);
      transport.barrier();
      EXPECT_EQ(copiedBytes - before, elements * sizeof(int));
      EXPECT_EQ(buffer[elements - 1], 0);
    });
}
#endif

TEST(Transfers, RefuseWrongDefinitions) {
  runThreadRanks(2, [](Transport &transport) {
    std::vector<int> buffer(4);
    int rank = transport.rank();
    Channels channels(transport, chain(2));
    auto message = [&](const auto &spec) {
      return messageOf<std::invalid_argument>([&] { channels.define(spec); });
    };
    EXPECT_EQ(message(endOf(buffer, true, 2)),
              "transfer 'x0': rank " + std::to_string(rank) + " has no peer 2");
    EXPECT_EQ(message(endOf(buffer, true, rank)),
              "transfer 'x0': rank " + std::to_string(rank) + " has no peer " +
                  std::to_string(rank));
    EXPECT_EQ(message(endOf(buffer, true, 1 - rank, -1)),
              "transfer 'x0': channel -1 is not in 0..2147483647");
    int end = channels.define(endOf(buffer, true, 1 - rank, 3));
    CollectiveSpec sum;
    sum.name = "g0";
    sum.group.axes = {"dp"};
    sum.channel = 3;
    EXPECT_EQ(message(sum), "collective 'g0': channel 3 has transfers");
    sum.channel = 4;
    channels.define(sum);
    EXPECT_EQ(message(endOf(buffer, true, 1 - rank, 4)),
              "transfer 'x0': channel 4 has collectives");
    EXPECT_EQ(messageOf<std::logic_error>([&] { channels.wait(end); }),
              "transfer 'x0' is waited for and was not started");
  });
}

TEST(Transfers, AFailureEndsAWait) {
  EXPECT_EQ(messageOf<RankFailure>([] {
              runThreadRanks(2, [](Transport &transport) {
                std::vector<int> buffer(4);
                Channels channels(transport, chain(2));
                int end =
                    channels.define(endOf(buffer, false, 1 - transport.rank()));
                channels.open(1);
                if (transport.rank() == 1)
                  throw std::runtime_error("out of memory");
                channels.start(end);
                channels.wait(end);
              });
            }),
            "rank 1: out of memory");
}
