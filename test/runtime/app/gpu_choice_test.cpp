//===- gpu_choice_test.cpp - Which GPU each rank has ----------------------===//

#include "app/gpu_choice.h"

#include <gtest/gtest.h>

using namespace ppopt;
using namespace ppopt::train;

namespace {

/// The numbers of the GPUs, and how many ranks have each.
using Choices = std::vector<std::pair<int, int>>;

Choices choose(const std::vector<SeenGpus> &ranks) {
  Choices choices;
  for (const device::GpuChoice &each : chooseGpus(ranks))
    choices.push_back({each.number, each.ranks});
  return choices;
}

TEST(GpuChoice, EachRankSeesAll) {
  SeenGpus one{"one", {"a", "b"}}, two{"two", {"c", "d"}};
  EXPECT_EQ(choose({one, one, two, two}),
            (Choices{{0, 1}, {1, 1}, {0, 1}, {1, 1}}));
  // Ranks of a machine may be any.
  EXPECT_EQ(choose({one, two, one, two}),
            (Choices{{0, 1}, {0, 1}, {1, 1}, {1, 1}}));
}

TEST(GpuChoice, EachRankSeesItsOwn) {
  EXPECT_EQ(choose({{"one", {"a"}}, {"one", {"b"}}, {"one", {"c"}}}),
            (Choices{{0, 1}, {0, 1}, {0, 1}}));
  // Its own first, and those of the others after it.
  EXPECT_EQ(choose({{"one", {"a", "b"}}, {"one", {"b", "a"}}}),
            (Choices{{0, 1}, {0, 1}}));
}

TEST(GpuChoice, PairsSeeTheirOwn) {
  SeenGpus one{"one", {"a", "b"}}, other{"one", {"c", "d"}};
  EXPECT_EQ(choose({one, one, other, other}),
            (Choices{{0, 1}, {1, 1}, {0, 1}, {1, 1}}));
}

TEST(GpuChoice, Shared) {
  SeenGpus one{"one", {"a"}}, two{"one", {"a", "b"}};
  EXPECT_EQ(choose({one, one}), (Choices{{0, 2}, {0, 2}}));
  EXPECT_EQ(choose({two, two, two}), (Choices{{0, 2}, {1, 1}, {0, 2}}));
  EXPECT_EQ(choose({one, two, two}), (Choices{{0, 2}, {1, 1}, {0, 2}}));
  // Two machines whose GPUs say the same of themselves.
  EXPECT_EQ(choose({{"one", {"a"}}, {"two", {"a"}}}),
            (Choices{{0, 1}, {0, 1}}));
}

} // namespace
