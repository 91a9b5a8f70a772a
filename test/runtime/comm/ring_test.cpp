//===- ring_test.cpp - Ring collectives, ranks as threads -----------------===//

#include "comm/ring.h"
#include "comm/thread_transport.h"

#include "inputs.h"

#include <gtest/gtest.h>

using namespace ppopt::comm;
using namespace ppopt::geometry;
using namespace ppopt::comm::test;

namespace {

/// Sizes that n does not divide, below n, zero, and with several lanes.
constexpr int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 60, 61, 1000, 500009};

Members wholeGroup(const Transport &transport) {
  Members group;
  for (int i = 0; i < transport.size(); ++i)
    group.ranks.push_back(i);
  group.position = transport.rank();
  return group;
}

/// Scratch memory of exactly the promised size, so that a sanitizer sees more.
std::vector<char> makeScratch(int64_t elements, int n, ElementType type) {
  return std::vector<char>(
      static_cast<size_t>(scratchElements(Collective::AllReduce, elements, n)) *
      sizeOf(type));
}

struct Outcome {
  std::vector<char> data;
  uint64_t bytesSent = 0;
};

template <typename Value>
std::vector<Outcome> run(Collective kind, int n, int64_t elements,
                         ElementType type, Value value) {
  std::vector<Outcome> outcomes(n);
  runThreadRanks(n, [&](Transport &transport) {
    transport.reserve(Ring::maxRequests);
    Members group = wholeGroup(transport);
    Outcome &outcome = outcomes[transport.rank()];
    outcome.data = makeBuffer(transport.rank(), elements, type, value);
    std::vector<char> scratch = makeScratch(elements, n, type);
    Ring ring(transport);
    ring.start(
        {kind, &group, outcome.data.data(), elements, type,
         scratchElements(kind, elements, n) > 0 ? scratch.data() : nullptr,
         /*channel=*/3});
    ring.wait();
    outcome.bytesSent = transport.counters().bytesSent;
  });
  return outcomes;
}

double exactSum(int n, int64_t i) {
  double sum = 0;
  for (int rank = 0; rank < n; ++rank)
    sum += exactValue(rank, i);
  return sum;
}

class Ranks : public testing::TestWithParam<int> {};

} // namespace

TEST_P(Ranks, AllReduceSums) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t elements : sizes) {
      auto outcomes = run(Collective::AllReduce, n, elements, type, exactValue);
      for (int rank = 0; rank < n; ++rank)
        for (int64_t i = 0; i < elements; ++i)
          ASSERT_EQ(get(outcomes[rank].data, i, type), exactSum(n, i))
              << nameOf(type) << " element " << i << " of " << elements
              << " on rank " << rank;
    }
}

TEST_P(Ranks, ReduceScatterLeavesTheSumOfChunkPOnMemberP) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t elements : sizes) {
      auto outcomes =
          run(Collective::ReduceScatter, n, elements, type, exactValue);
      for (int rank = 0; rank < n; ++rank)
        for (int64_t i = chunkBegin(elements, n, rank);
             i < chunkBegin(elements, n, rank + 1); ++i)
          ASSERT_EQ(get(outcomes[rank].data, i, type), exactSum(n, i));
    }
}

TEST_P(Ranks, AllGatherSpreadsChunks) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t elements : sizes) {
      auto outcomes = run(Collective::AllGather, n, elements, type, exactValue);
      for (int rank = 0; rank < n; ++rank)
        for (int owner = 0; owner < n; ++owner)
          for (int64_t i = chunkBegin(elements, n, owner);
               i < chunkBegin(elements, n, owner + 1); ++i)
            ASSERT_EQ(get(outcomes[rank].data, i, type), exactValue(owner, i));
    }
}

TEST_P(Ranks, AllReduceTakesMaxima) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t elements : sizes) {
      auto outcomes =
          run(Collective::AllReduceMax, n, elements, type, exactValue);
      for (int64_t i = 0; i < elements; ++i) {
        double most = exactValue(0, i);
        for (int rank = 1; rank < n; ++rank)
          most = std::max(most, exactValue(rank, i));
        for (int rank = 0; rank < n; ++rank)
          ASSERT_EQ(get(outcomes[rank].data, i, type), most);
      }
    }
}

TEST_P(Ranks, AllToAllGivesChunkPToMemberP) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t chunk : {0, 1, 7, 1000, 100003}) {
      auto outcomes = run(Collective::AllToAll, n, chunk * n, type, exactValue);
      for (int rank = 0; rank < n; ++rank)
        for (int from = 0; from < n; ++from)
          for (int64_t i = 0; i < chunk; ++i)
            ASSERT_EQ(get(outcomes[rank].data, from * chunk + i, type),
                      exactValue(from, rank * chunk + i));
    }
}

TEST_P(Ranks, BroadcastCopiesTheFirst) {
  int n = GetParam();
  for (ElementType type : allTypes)
    for (int64_t elements : sizes) {
      auto outcomes = run(Collective::Broadcast, n, elements, type, exactValue);
      for (int rank = 0; rank < n; ++rank)
        ASSERT_EQ(outcomes[rank].data, outcomes[0].data);
      for (int64_t i = 0; i < elements; ++i)
        ASSERT_EQ(get(outcomes[0].data, i, type), exactValue(0, i));
    }
}

TEST_P(Ranks, AddsInTheOrderOfTheRing) {
  int n = GetParam();
  int64_t elements = 500009;
  auto outcomes =
      run(Collective::AllReduce, n, elements, ElementType::F32, roughValue);
  for (int rank = 1; rank < n; ++rank)
    EXPECT_EQ(outcomes[rank].data, outcomes[0].data) << "rank " << rank;
  for (int chunk = 0; chunk < n; ++chunk)
    for (int64_t i = chunkBegin(elements, n, chunk);
         i < chunkBegin(elements, n, chunk + 1); ++i) {
      float sum = static_cast<float>(roughValue((chunk + 1) % n, i));
      for (int step = 2; step <= n; ++step)
        sum += static_cast<float>(roughValue((chunk + step) % n, i));
      ASSERT_EQ(get(outcomes[0].data, i, ElementType::F32), sum) << i;
    }
}

TEST_P(Ranks, SendsTheBytesOfTheFormula) {
  int n = GetParam();
  for (Collective kind :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
        Collective::AllReduceMax, Collective::Broadcast})
    for (int64_t elements : sizes) {
      auto outcomes = run(kind, n, elements, ElementType::F32, exactValue);
      for (int rank = 0; rank < n; ++rank)
        EXPECT_EQ(outcomes[rank].bytesSent,
                  4 * elementsSent(kind, elements, n, rank))
            << elements << " elements, rank " << rank;
    }
  int64_t divisible = 60 * 4096;
  for (const Outcome &outcome :
       run(Collective::AllToAll, n, divisible, ElementType::F32, exactValue))
    EXPECT_EQ(outcome.bytesSent, (n - 1) * (divisible * 4) / n);
  auto outcomes =
      run(Collective::AllReduce, n, divisible, ElementType::F32, exactValue);
  for (const Outcome &outcome : outcomes)
    EXPECT_EQ(outcome.bytesSent, 2 * (n - 1) * (divisible * 4) / n);
}

INSTANTIATE_TEST_SUITE_P(, Ranks, testing::Range(1, 6));

TEST(Ring, RunsOverASubsetInAnyOrder) {
  std::vector<std::vector<char>> data(4);
  runThreadRanks(4, [&](Transport &transport) {
    int rank = transport.rank();
    if (rank == 1)
      return;
    Members group;
    group.ranks = {3, 0, 2};
    group.position = rank == 3 ? 0 : rank == 0 ? 1 : 2;
    data[rank] = makeBuffer(rank, 100, ElementType::I64, exactValue);
    std::vector<char> scratch = makeScratch(100, 3, ElementType::I64);
    Ring ring(transport);
    ring.start({Collective::AllReduce, &group, data[rank].data(), 100,
                ElementType::I64, scratch.data(), 0});
    ring.wait();
  });
  for (int rank : {0, 2, 3})
    for (int64_t i = 0; i < 100; ++i)
      ASSERT_EQ(get(data[rank], i, ElementType::I64),
                exactValue(0, i) + exactValue(2, i) + exactValue(3, i));
}

TEST(Ring, RefusesASecondStartInFlight) {
  EXPECT_THROW(runThreadRanks(2,
                              [&](Transport &transport) {
                                Members group = wholeGroup(transport);
                                std::vector<char> data(8), scratch(4);
                                Ring ring(transport);
                                RingCall call{Collective::AllReduce,
                                              &group,
                                              data.data(),
                                              2,
                                              ElementType::F32,
                                              scratch.data(),
                                              0};
                                if (transport.rank() == 0)
                                  ring.start(call);
                                if (transport.rank() == 0)
                                  ring.start(call);
                                else
                                  transport.barrier();
                              }),
               RankFailure);
}
