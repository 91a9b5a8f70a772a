//===- collective_test.cpp - Chunks and messages of ring collectives ------===//

#include "geometry/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace ppopt::geometry;

namespace {

constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 7, 8, 60, 61, 1001};
constexpr Collective kinds[] = {
    Collective::AllReduce, Collective::AllReduceMax, Collective::ReduceScatter,
    Collective::AllGather, Collective::AllToAll,     Collective::Broadcast};

/// The definition: deals the elements out one by one.
std::vector<int64_t> dealOut(int64_t elements, int64_t n) {
  std::vector<int64_t> chunks(n);
  for (int64_t i = 0; i < elements; ++i)
    ++chunks[i % n];
  return chunks;
}

/// What one member of a ring sends, message by message.
int64_t simulate(Collective kind, const std::vector<int64_t> &chunks,
                 int64_t position, int64_t &messages) {
  auto n = static_cast<int64_t>(chunks.size());
  int64_t sent = 0;
  messages = 0;
  // A broadcast passes every chunk on, from the first member to the last; it is
  // over when the last chunk has made the last of the n-1 hops.
  if (kind == Collective::Broadcast) {
    for (int64_t chunk = 0; chunk < n && n > 1; ++chunk) {
      sent += position + 1 < n ? chunks[chunk] : 0;
      messages = chunk + n - 1;
    }
    return sent;
  }
  // In each round of an all-to-all a member has one partner. Of an odd number
  // of members one rests.
  if (kind == Collective::AllToAll) {
    for (int64_t partner = 0; partner < n; ++partner)
      sent += partner == position ? 0 : chunks[partner];
    messages = n == 1 ? 0 : n - 1 + n % 2;
    return sent;
  }
  // Reduce-scatter passes the sums on, until chunk p arrives at member p.
  if (kind != Collective::AllGather)
    for (int64_t round = 0; round < n - 1; ++round, ++messages)
      sent += chunks[(position - 1 - round + n) % n];
  if (kind != Collective::ReduceScatter)
    for (int64_t round = 0; round < n - 1; ++round, ++messages)
      sent += chunks[(position - round + n) % n];
  return sent;
}

} // namespace

TEST(Collective, ChunksShareTheElements) {
  for (int64_t elements : sizes)
    for (int64_t n = 1; n <= 9; ++n) {
      std::vector<int64_t> chunks = dealOut(elements, n);
      int64_t begin = 0;
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(chunkBegin(elements, n, i), begin);
        ASSERT_EQ(chunkSize(elements, n, i), chunks[i]);
        begin += chunks[i];
      }
      ASSERT_EQ(chunkBegin(elements, n, n), elements);
      ASSERT_EQ(largestChunk(elements, n),
                *std::max_element(chunks.begin(), chunks.end()));
    }
}

TEST(Collective, SendsWhatARingSends) {
  for (Collective kind : kinds)
    for (int64_t elements : sizes)
      for (int64_t n = 1; n <= 9; ++n)
        for (int64_t position = 0; position < n; ++position) {
          int64_t messages = 0;
          ASSERT_EQ(elementsSent(kind, elements, n, position),
                    simulate(kind, dealOut(elements, n), position, messages));
          ASSERT_EQ(rounds(kind, n), messages);
        }
}

TEST(Collective, OnlyWhatIsAddedOrExchangedNeedsScratch) {
  for (int64_t elements : sizes)
    for (int64_t n = 1; n <= 9; ++n) {
      std::vector<int64_t> chunks = dealOut(elements, n);
      int64_t largest = n == 1 ? 0 : chunks[0];
      EXPECT_EQ(scratchElements(Collective::AllReduce, elements, n), largest);
      EXPECT_EQ(scratchElements(Collective::ReduceScatter, elements, n),
                largest);
      EXPECT_EQ(scratchElements(Collective::AllReduceMax, elements, n),
                largest);
      EXPECT_EQ(scratchElements(Collective::AllToAll, elements, n), largest);
      EXPECT_EQ(scratchElements(Collective::AllGather, elements, n), 0);
      EXPECT_EQ(scratchElements(Collective::Broadcast, elements, n), 0);
    }
}
