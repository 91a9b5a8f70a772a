//===- mesh_test.cpp - Ranks on named axes, and groups of them ------------===//

#include "geometry/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace ppopt::geometry;

namespace {

/// Major to minor, in an order in which pp is not the last axis.
constexpr const char *names[] = {"dp", "rows", "pp", "tp"};

/// Calls `visit` with every list of up to 4 sizes in 1..4.
void forAllSizes(const std::function<void(std::vector<int64_t>)> &visit) {
  std::vector<std::vector<int64_t>> lists = {{}};
  for (size_t i = 0; i < lists.size(); ++i) {
    std::vector<int64_t> sizes = lists[i];
    visit(sizes);
    if (sizes.size() == std::size(names))
      continue;
    for (int64_t size = 1; size <= 4; ++size) {
      lists.push_back(sizes);
      lists.back().push_back(size);
    }
  }
}

/// The definition: the coordinates of all ranks, in the order of the ranks.
using Tuples = std::vector<std::vector<int64_t>>;

Tuples listTuples(const std::vector<int64_t> &sizes) {
  Tuples tuples = {{}};
  for (int64_t size : sizes) {
    Tuples longer;
    for (const std::vector<int64_t> &tuple : tuples)
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(tuple);
        longer.back().push_back(i);
      }
    tuples = longer;
  }
  return tuples;
}

Mesh makeMesh(const std::vector<int64_t> &sizes) {
  Mesh mesh;
  for (size_t i = 0; i < sizes.size(); ++i)
    mesh.add({names[i], sizes[i]});
  return mesh;
}

bool isIn(const std::vector<int64_t> &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Checks one group of a mesh against the definition. `mask`: its axes; `among`
/// as a mask of places, 0 for all.
void checkGroup(const Mesh &mesh, const Tuples &tuples, unsigned mask,
                unsigned among) {
  size_t axes = tuples[0].size();
  Group group;
  for (size_t i = axes; i-- > 0;) // in another order than the mesh
    if (mask >> i & 1)
      group.axes.push_back(names[i]);
  for (int64_t place = 0; place < 4; ++place)
    if (among >> place & 1)
      group.among.push_back(place);
  for (int64_t rank = 0; rank < int64_t(tuples.size()); ++rank) {
    std::vector<int> members;
    std::vector<int64_t> places;
    for (int64_t other = 0; other < int64_t(tuples.size()); ++other) {
      bool belongs = true;
      for (size_t i = 0; i < axes; ++i) {
        belongs &= (mask >> i & 1) || tuples[other][i] == tuples[rank][i];
        if (among && i == 2)
          belongs &= isIn(group.among, tuples[other][i]);
      }
      if (!belongs)
        continue;
      members.push_back(int(other));
      int64_t place = axes > 2 ? tuples[other][2] : 0;
      if (!isIn(places, place))
        places.push_back(place);
    }
    bool isMember = std::count(members.begin(), members.end(), int(rank)) > 0;
    ASSERT_EQ(mesh.check(group, rank).empty(), isMember);
    if (!isMember)
      continue;
    Members found = mesh.members(group, rank);
    ASSERT_EQ(found.ranks, members);
    ASSERT_EQ(found.ranks[found.position], rank);
    ASSERT_EQ(mesh.size(group), int64_t(members.size()));
    ASSERT_EQ(mesh.position(group, rank), found.position);
    ASSERT_EQ(mesh.placesOf(group, mesh.placeOf(rank)), places);
  }
}

TEST(Mesh, NamesPlacesOfAGroupUnlessTheyAreAll) {
  Mesh mesh{{"dp", 2}, {"pp", 3}};
  EXPECT_EQ(mesh.describe({{"dp"}, {}}), "dp");
  EXPECT_EQ(mesh.describe({{"dp", "pp"}, {}}), "dp pp");
  EXPECT_EQ(mesh.describe({{"dp", "pp"}, {0, 1, 2}}), "dp pp");
  EXPECT_EQ(mesh.describe({{"pp"}, {0, 2}}), "pp {0,2}");
}

} // namespace

TEST(Mesh, RanksAreTuplesInOrder) {
  forAllSizes([](std::vector<int64_t> sizes) {
    Mesh mesh = makeMesh(sizes);
    Tuples tuples = listTuples(sizes);
    ASSERT_EQ(mesh.check(), "");
    ASSERT_EQ(mesh.ranks(), int64_t(tuples.size()));
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      ASSERT_EQ(mesh.coordinates(rank), tuples[rank]);
      ASSERT_EQ(mesh.rankAt(tuples[rank]), rank);
      int64_t sum = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        ASSERT_EQ(mesh.coordinate(rank, names[i]), tuples[rank][i]);
        ASSERT_EQ(mesh.size(names[i]), sizes[i]);
        sum += mesh.stride(names[i]) * tuples[rank][i];
      }
      ASSERT_EQ(sum, rank);
    }
  });
}

TEST(Mesh, PeersAreOnOtherPlaces) {
  forAllSizes([](std::vector<int64_t> sizes) {
    Mesh mesh = makeMesh(sizes);
    Tuples tuples = listTuples(sizes);
    int64_t places = sizes.size() > 2 ? sizes[2] : 1;
    ASSERT_EQ(mesh.places(), places);
    for (int64_t place = 0; place < places; ++place) {
      std::vector<int64_t> ranks;
      for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
        std::vector<int64_t> tuple = tuples[rank];
        if (sizes.size() > 2) {
          if (tuple[2] == place)
            ranks.push_back(rank);
          tuple[2] = place;
        } else {
          ranks.push_back(rank);
        }
        auto peer = std::find(tuples.begin(), tuples.end(), tuple);
        ASSERT_EQ(mesh.peer(rank, place), peer - tuples.begin());
      }
      ASSERT_EQ(mesh.ranksOf(place), ranks);
      ASSERT_EQ(mesh.firstRank(place), ranks.front());
    }
    ASSERT_EQ(mesh.peer(0, places), std::nullopt);
    ASSERT_EQ(mesh.peer(0, -1), std::nullopt);
  });
}

TEST(Mesh, GroupsAreThoseOfTheDefinition) {
  forAllSizes([](std::vector<int64_t> sizes) {
    Mesh mesh = makeMesh(sizes);
    Tuples tuples = listTuples(sizes);
    for (unsigned mask = 0; mask < 1u << sizes.size(); ++mask) {
      unsigned choices = mask >> 2 & 1 ? 1u << sizes[2] : 1;
      for (unsigned among = 0; among < choices; ++among)
        ASSERT_NO_FATAL_FAILURE(checkGroup(mesh, tuples, mask, among));
    }
  });
}

TEST(Mesh, OnlyAxesOfTheBatchSplitIt) {
  forAllSizes([](std::vector<int64_t> sizes) {
    Mesh mesh = makeMesh(sizes);
    Tuples tuples = listTuples(sizes);
    ASSERT_EQ(mesh.batchParts(), sizes.empty() ? 1 : sizes[0]);
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
      ASSERT_EQ(mesh.batchPart(rank), sizes.empty() ? 0 : tuples[rank][0]);
  });
}

TEST(Mesh, AxesOfTheBatchSplitItInTheirOrder) {
  Mesh mesh({{"fsdp", 2}, {"pp", 2}, {"dp", 3}});
  EXPECT_EQ(mesh.batchParts(), 6);
  // Rank 10 = ((1·2)+1)·3+1.
  EXPECT_EQ(mesh.batchPart(10), 1 * 3 + 1);
  EXPECT_EQ(mesh.batchPart(7), 1 * 3 + 1);
  EXPECT_EQ(mesh.batchPart(5), 2);
}

TEST(Mesh, GroupsDifferInOneAxis) {
  Mesh mesh({{"dp", 2}, {"pp", 3}, {"tp", 2}});
  EXPECT_EQ(mesh.ranks(), 12);
  // Rank 7 = ((1·3)+0)·2+1.
  EXPECT_EQ(mesh.coordinates(7), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(mesh.members({{"dp"}, {}}, 7).ranks, (std::vector<int>{1, 7}));
  EXPECT_EQ(mesh.members({{"dp"}, {}}, 7).position, 1);
  EXPECT_EQ(mesh.members({{"pp"}, {}}, 7).ranks, (std::vector<int>{7, 9, 11}));
  EXPECT_EQ(mesh.members({{"tp"}, {}}, 7).ranks, (std::vector<int>{6, 7}));
  EXPECT_EQ(mesh.members({{"dp", "pp", "tp"}, {}}, 7).size(), 12);
  EXPECT_EQ(mesh.members({{"dp", "pp", "tp"}, {}}, 7).position, 7);
  EXPECT_EQ(mesh.members({{"pp", "tp"}, {0, 2}}, 7).ranks,
            (std::vector<int>{6, 7, 10, 11}));
  EXPECT_EQ(mesh.peer(7, 2), 11);
  EXPECT_EQ(mesh.peer(11, 0), 7);
  EXPECT_EQ(mesh.firstRank(2), 4);
  EXPECT_EQ(Mesh({{"dp", 2}}).firstRank(0), 0);
}

TEST(Mesh, RefusesWhatIsNoMesh) {
  EXPECT_EQ(Mesh({{"dp", 0}}).check(), "mesh axis 'dp' has size 0");
  EXPECT_EQ(Mesh({{"dp", 1}, {"dp", 2}}).check(),
            "mesh axis 'dp' is named twice");
  Mesh eight({{"a"}, {"b"}, {"c"}, {"dp"}, {"e"}, {"f"}, {"g"}, {"pp"}});
  EXPECT_EQ(eight.check(), "");
  eight.add({"rows", 2});
  EXPECT_EQ(eight.check(), "the mesh has 9 axes, and at most 8 are possible: "
                           "leave out 'rows'");
  EXPECT_EQ(Mesh({{"dp", 1}, {"pp", 2}}).check({{"tp"}, {}}, 0),
            "the mesh has no axis 'tp'; its axes are: dp, pp");
  EXPECT_EQ(Mesh({{"pp", 3}}).check({{"pp"}, {0, 2}}, 1),
            "rank 1 is not in a group of its own");
  EXPECT_EQ(Mesh({{"pp", 2}}).check({{"pp"}, {0, 2}}, 0),
            "the mesh has no place 2");
}

TEST(Axes, HaveOneUseEach) {
  EXPECT_EQ(batchAxis, "dp");
  EXPECT_EQ(placeAxis, "pp");
  EXPECT_EQ(useOf("fsdp"), AxisUse::Batch);
  EXPECT_EQ(useOf("tp"), AxisUse::Model);
  EXPECT_EQ(useOf("ep"), AxisUse::Planned);
  EXPECT_EQ(useOf("rows"), AxisUse::Model);
}
