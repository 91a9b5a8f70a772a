//===- links_test.cpp - Times of collectives and transfers ----------------===//
//
// Expected times are computed by hand from the formulas that are published for
// rings (Thakur et al. 2005), pairs of trees (Sanders et al. 2009) and levels.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Links.h"

#include <gtest/gtest.h>

using namespace mlir::pp;
using ppopt::geometry::Collective;
using ppopt::geometry::Group;
using ppopt::geometry::Mesh;
using ppopt::schema::LinkRates;

namespace {

constexpr int64_t gib = 1 << 30;

/// Nodes of 8 devices; 2 us and 200 bytes per ns within, 10 us and 25 between.
Cluster makeCluster(bool trees) {
  LinkRates inside{2000, 200}, between{10000, 25};
  Cluster cluster;
  cluster.name = "test";
  cluster.trees = trees;
  cluster.levels = {{"NVLink", 8, inside, inside},
                    {"InfiniBand", 4, {9000, 20}, between}};
  return cluster;
}

Links makeLinks(Mesh mesh, bool trees = false) {
  return Links(makeCluster(trees), getBuiltinDevice(), std::move(mesh));
}

double estimate(const Links &links, Collective kind, int64_t bytes,
                std::vector<std::string> axes, int64_t place = 0) {
  return links.estimateTime(kind, bytes, Group{std::move(axes), {}}, place);
}

TEST(Links, TakesARingInsideOfAUnit) {
  Links links = makeLinks({{"dp", 4}, {"tp", 8}});
  // 2 · 7/8 · B / 200 + 14 · 2000; half of it for a gather.
  EXPECT_NEAR(estimate(links, Collective::AllReduce, gib, {"tp"}), 9423240.96,
              0.01);
  EXPECT_NEAR(estimate(links, Collective::AllGather, gib, {"tp"}), 4711620.48,
              0.01);
  EXPECT_EQ(links.getLevel({{"tp"}, {}}, 0).name, "NVLink");
}

TEST(Links, TakesOneLinkPerMemberBetweenUnits) {
  // One member in each of four nodes: 2 · 3/4 · B / 25 + 6 · 10000.
  Links links = makeLinks({{"dp", 4}, {"tp", 8}});
  EXPECT_NEAR(estimate(links, Collective::AllReduce, gib, {"dp"}), 64484509.44,
              0.01);
  EXPECT_EQ(links.getLevel({{"dp"}, {}}, 0).name, "InfiniBand");
  // Two in each: B / 50, and 8 of the 14 hops are inside.
  Links pairs = makeLinks({{"dp", 4}, {"tp", 4}, {"fsdp", 2}});
  EXPECT_NEAR(estimate(pairs, Collective::AllReduce, gib, {"dp", "fsdp"}),
              37656963.84, 0.01);
  // All eight: the links inside are as slow as those between together.
  Links all = makeLinks({{"dp", 16}});
  EXPECT_NEAR(estimate(all, Collective::AllReduce, gib, {"dp"}), 10142329.6,
              0.01);
}

TEST(Links, TakesTheSlowestOfUnevenGroups) {
  // Ranks 0-5 are in one node, 6-11 two in one and four in the next.
  Links links = makeLinks({{"dp", 2}, {"tp", 6}});
  EXPECT_NEAR(estimate(links, Collective::AllReduce, gib, {"tp"}),
              10 * (gib / 6) / 50. + 8 * 2000 + 2 * 10000, 0.01);
  EXPECT_EQ(links.getLevel({{"tp"}, {}}, 0).name, "InfiniBand");
  // Each place has its own: that of ranks 0-5 is inside.
  Links places = makeLinks({{"pp", 2}, {"tp", 6}});
  EXPECT_EQ(places.getLevel({{"tp"}, {}}, 0).name, "NVLink");
  EXPECT_EQ(places.getLevel({{"tp"}, {}}, 1).name, "InfiniBand");
}

TEST(Links, TakesATreeForFewBytes) {
  Links tp = makeLinks({{"tp", 8}}, /*trees=*/true);
  // 2 (3 · 2000 + B / 200).
  EXPECT_NEAR(estimate(tp, Collective::AllReduce, 1024, {"tp"}), 12010.24,
              0.01);
  // 2 (1 · 2000 + 2 · 10000 + B / 50).
  Links pairs = makeLinks({{"dp", 4}, {"tp", 4}, {"fsdp", 2}}, true);
  EXPECT_NEAR(estimate(pairs, Collective::AllReduce, 1024, {"dp", "fsdp"}),
              44040.96, 0.01);
  // Not for a gather.
  EXPECT_NEAR(estimate(tp, Collective::AllGather, 1024, {"tp"}),
              7 * (2000 + 128 / 200.), 0.01);
}

TEST(Links, TakesLevelsOneAfterTheOther) {
  constexpr int64_t bytes = 16 << 20;
  Links pairs = makeLinks({{"dp", 4}, {"tp", 4}, {"fsdp", 2}}, true);
  // (2000 + B/2 / 200) + 3 (10000 + B/2/4 / 25), twice for a sum.
  EXPECT_NEAR(estimate(pairs, Collective::AllGather, bytes, {"dp", "fsdp"}),
              325601.28, 0.01);
  EXPECT_NEAR(estimate(pairs, Collective::AllReduce, bytes, {"dp", "fsdp"}),
              2 * 325601.28, 0.01);
}

TEST(Links, ExchangesWithNearAndFarMembers) {
  // Of 16 members, 7 of the 15 others are in the same node.
  Links links = makeLinks({{"dp", 16}});
  EXPECT_NEAR(estimate(links, Collective::AllToAll, gib, {"dp"}),
              7 * (2000 + gib / 16 / 200.) + 8 * (10000 + gib / 16 / 25.),
              0.01);
}

TEST(Links, FindsTheLevelOfATransfer) {
  Links inner = makeLinks({{"dp", 4}, {"pp", 2}, {"tp", 4}});
  EXPECT_EQ(inner.getLevelOfPlaces().name, "NVLink");
  Links outer = makeLinks({{"pp", 4}, {"dp", 2}, {"tp", 4}});
  EXPECT_EQ(outer.getLevelOfPlaces().transfer.rate, 20);
  // Places 0 and 1 of 6 are in one node, 1 and 2 are not.
  Links mixed = makeLinks({{"pp", 6}, {"tp", 4}});
  EXPECT_EQ(mixed.getLevelBetween(0, 1).name, "NVLink");
  EXPECT_EQ(mixed.getLevelBetween(1, 2).name, "InfiniBand");
}

TEST(Links, AreThoseOfTheDeviceWithoutACluster) {
  // One ring: 2 (n - 1) rounds of B / n, whichever ranks these are.
  Links links(std::nullopt, getBuiltinDevice(), {{"dp", 16}, {"tp", 3}});
  auto ring = [](int64_t n) {
    return 2 * double(n - 1) * (20000 + double(gib / n) / 4);
  };
  EXPECT_EQ(estimate(links, Collective::AllReduce, gib, {"dp"}), ring(16));
  EXPECT_EQ(estimate(links, Collective::AllReduce, gib, {"tp"}), ring(3));
  EXPECT_EQ(estimate(links, Collective::AllReduce, gib, {}), 0);
}

/// The groups of 16,384 ranks take no longer than those of few.
TEST(Links, AreNotCountedRankByRank) {
  Cluster cluster = makeCluster(true);
  cluster.levels[1].size = 1 << 17;
  Links links(cluster, getBuiltinDevice(),
              {{"pp", 16}, {"dp", 1 << 13}, {"tp", 8}});
  for (int64_t place = 0; place < 16; ++place) {
    EXPECT_EQ(links.getLevel({{"tp"}, {}}, place).name, "NVLink");
    EXPECT_GT(estimate(links, Collective::AllReduce, gib, {"pp"}, place), 0);
  }
}

} // namespace
