//===- cut_by_cost_test.cpp - Cuts against all cuts -----------------------===//

#include "ppopt/Transforms/Placement/CutByCost.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir::pp;

namespace {

using Positions = std::vector<int>;
constexpr double kNone = std::numeric_limits<double>::infinity();

/// Items with these times, each reading the one before it.
CutProblem makeChain(const std::vector<double> &times, int pieces,
                     double transferTime = 0) {
  CutProblem problem;
  for (size_t i = 0; i < times.size(); ++i) {
    CutProblem::Item item;
    item.time = times[i];
    if (i > 0)
      item.reads.push_back(i - 1);
    problem.items.push_back(item);
    problem.values.push_back({static_cast<int>(i), transferTime});
  }
  for (int piece = 0; piece < pieces; ++piece) {
    problem.placeOf.push_back(piece);
    problem.inFlight.push_back(1);
  }
  return problem;
}

TEST(CutByCost, EqualLayersAreBalanced) {
  PieceCut cut = cutByCost(makeChain(std::vector<double>(12, 1), 4));
  EXPECT_EQ(cut.begin, (Positions{0, 3, 6, 9, 12}));
  EXPECT_EQ(cut.slowest, 3);
}

TEST(CutByCost, OneLargeItemStandsAlone) {
  PieceCut cut = cutByCost(makeChain({1, 1, 1, 9, 1, 1}, 3));
  EXPECT_EQ(cut.begin, (Positions{0, 3, 4, 6}));
  EXPECT_EQ(cut.slowest, 9);
}

TEST(CutByCost, TransfersMoveTheCut) {
  CutProblem problem = makeChain({2, 2, 2, 2}, 2);
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4}));
  // In the middle it would be 2 + 2 + 5.
  problem.values[1].transferTime = 5;
  PieceCut cut = cutByCost(problem);
  EXPECT_EQ(cut.begin[1] == 1 || cut.begin[1] == 3, true);
  EXPECT_EQ(cut.slowest, 6);
}

TEST(CutByCost, NothingIsTransferredWithinAPlace) {
  CutProblem problem = makeChain({1, 1, 1, 1}, 4, /*transferTime=*/10);
  problem.placeOf = {0, 1, 1, 0};
  // Pieces 1 and 2 each have one neighbour elsewhere, as have 0 and 3.
  EXPECT_EQ(cutByCost(problem).slowest, 11);
}

TEST(CutByCost, MemoryForcesAnotherCut) {
  CutProblem problem = makeChain({1, 1, 1, 1}, 2);
  for (int i = 0; i < 4; ++i) {
    problem.items[i].params.push_back(i);
    problem.paramBytes.push_back(i == 0 ? 70 : 30);
  }
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4}));
  problem.deviceMemory = 90;
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 1, 4}));
  problem.deviceMemory = 89;
  EXPECT_EQ(cutByCost(problem).error,
            "no cut fits: in the one that needs least, place 1 has 90 B of "
            "parameters, gradients and optimizer state");
}

/// Four items on two pieces, each of which saves 10 bytes.
CutProblem makeSavingChain(std::vector<int> inFlight) {
  CutProblem problem = makeChain({1, 1, 1, 1}, 2);
  for (CutProblem::Item &item : problem.items)
    item.savedBytes = 10;
  problem.inFlight = std::move(inFlight);
  return problem;
}

TEST(CutByCost, AnEstimateRefusesNothing) {
  CutProblem problem = makeSavingChain({2, 1});
  problem.deviceMemory = 29;
  PieceCut cut = cutByCost(problem);
  EXPECT_EQ(cut.error, "");
  // 20 and 30; all others have more on one piece.
  EXPECT_EQ(cut.begin, (Positions{0, 1, 4}));
}

TEST(CutByCost, MemoryCountsWhatIsInFlight) {
  CutProblem problem = makeSavingChain({3, 1});
  problem.deviceMemory = 59;
  // 60 in front for two items with three in flight each.
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 1, 4}));
}

TEST(CutByCost, PiecesOfAPlaceHoldMostAtDifferentMoments) {
  CutProblem problem = makeChain({1, 1, 1, 1, 2, 2}, 4);
  problem.placeOf = {0, 1, 0, 1};
  for (CutProblem::Item &item : problem.items)
    item.savedBytes = 10;
  problem.inFlight = {2, 2, 1, 1};
  problem.deviceMemory = 45;
  // 2 * 20 + 10 on each place, if both of its pieces hold most at once.
  EXPECT_EQ(cutByCost(problem).slowest, 4);
  for (int place : {0, 1}) {
    problem.moments.push_back({place, {2, 0}});
    problem.moments.push_back({place, {1, 1}});
  }
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4, 5, 6}));
}

TEST(CutByCost, PiecesOfAPlaceAreLimitedByNoMoreThanIsNeeded) {
  CutProblem problem = makeChain(std::vector<double>(8, 1), 4);
  problem.placeOf = {0, 1, 0, 1};
  for (int i = 0; i < 8; ++i) {
    problem.items[i].params.push_back(i);
    problem.paramBytes.push_back(i == 0 ? 40 : 10);
  }
  problem.deviceMemory = 60;
  // In 30 bytes, the share of a piece, item 0 does not fit.
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 1, 4, 6, 8}));
}

TEST(CutByCost, EstimatesFillAPartOfTheMemory) {
  CutProblem problem = makeSavingChain({3, 1});
  problem.deviceMemory = 60;
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4}));
  problem.fillMemory = 59;
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 1, 4}));
}

TEST(CutByCost, MemoryCountsWhatIsReceivedAndRead) {
  CutProblem problem = makeChain({1, 1, 1, 1}, 2);
  for (CutProblem::Value &value : problem.values)
    value.keptBytes = value.receivedBytes = 10;
  problem.inFlight = {3, 1};
  problem.deviceMemory = 30;
  // In front item 1 reads one value, behind items 2 and 3 two.
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4}));
  problem.deviceMemory = 29;
  problem.values[0].receivedBytes = 0;
  // Behind item 0 two of three are read.
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 1, 4}));
}

TEST(CutByCost, ChunksOfAPlaceShareItsMemory) {
  CutProblem problem = makeChain(std::vector<double>(8, 1), 4);
  problem.placeOf = {0, 1, 0, 1};
  // The first two items are large: cut evenly, place 0 would need 100.
  for (int i = 0; i < 8; ++i) {
    problem.items[i].params.push_back(i);
    problem.paramBytes.push_back(i < 2 ? 40 : 10);
  }
  EXPECT_EQ(cutByCost(problem).begin, (Positions{0, 2, 4, 6, 8}));
  problem.deviceMemory = 99;
  PieceCut cut = cutByCost(problem);
  EXPECT_EQ(cut.begin, (Positions{0, 1, 4, 6, 8})); // 60 and 80
}

TEST(CutByCost, MorePiecesThanItems) {
  EXPECT_EQ(cutByCost(makeChain({1, 1}, 3)).error,
            "the model has only 2 ops to cut into 3 pieces");
  EXPECT_EQ(cutByCost(makeChain({1}, 2)).error,
            "the model has only 1 op to cut into 2 pieces");
}

//===----------------------------------------------------------------------===//
// Against all cuts
//===----------------------------------------------------------------------===//

CutProblem makeRandom(std::mt19937 &random) {
  auto below = [&](int end) { return static_cast<int>(random() % end); };
  int items = 2 + below(7), pieces = 1 + below(std::min(items, 4));
  CutProblem problem = makeChain(std::vector<double>(items), pieces);
  problem.values.clear();
  for (int i = 0; i < items; ++i) {
    problem.items[i].time = below(10);
    problem.items[i].savedBytes = below(5);
    problem.items[i].temporaryBytes = below(5);
    problem.items[i].reads.clear();
    for (size_t value = 0; value < problem.values.size(); ++value)
      if (below(3) == 0)
        problem.items[i].reads.push_back(value);
    for (int results = below(3); results > 0; --results)
      problem.values.push_back(
          {i, static_cast<double>(below(6)), below(4), below(4)});
    if (below(2))
      problem.items[i].params.push_back(below(3));
  }
  problem.paramBytes = {below(20), below(20), below(20)};
  for (int &inFlight : problem.inFlight)
    inFlight = 1 + below(3);
  problem.deviceMemory = 20 + below(40);
  return problem;
}

/// As the header says it, piece by piece.
double getTime(const CutProblem &problem, int begin, int end) {
  double time = 0;
  std::set<int> received, sent;
  auto isInside = [&](int item) { return begin <= item && item < end; };
  for (int item = 0; item < static_cast<int>(problem.items.size()); ++item) {
    if (isInside(item))
      time += problem.items[item].time;
    for (int value : problem.items[item].reads) {
      bool isOwn = isInside(problem.values[value].item);
      if (isInside(item) && !isOwn)
        received.insert(value);
      if (isOwn && item >= end)
        sent.insert(value);
    }
  }
  for (int value : received)
    time += problem.values[value].transferTime;
  for (int value : sent)
    time += problem.values[value].transferTime;
  return time;
}

int64_t getMemory(const CutProblem &problem, int begin, int end, int piece) {
  int64_t saved = 0, bytes = 0, temporary = 0;
  std::set<int> params, read;
  for (int item = begin; item < end; ++item) {
    saved += problem.items[item].savedBytes;
    temporary = std::max(temporary, problem.items[item].temporaryBytes);
    read.insert(problem.items[item].reads.begin(),
                problem.items[item].reads.end());
    params.insert(problem.items[item].params.begin(),
                  problem.items[item].params.end());
  }
  for (int value : read) {
    const CutProblem::Value &of = problem.values[value];
    saved += of.item < begin ? of.receivedBytes : of.keptBytes;
  }
  for (int param : params)
    bytes += problem.paramBytes[param];
  return bytes + saved * problem.inFlight[piece] + temporary;
}

/// The least of what the cuts' costliest pieces cost, of all cuts.
template <typename CostFn>
double findBest(const CutProblem &problem, CostFn cost, int begin = 0,
                int piece = 0) {
  int items = problem.items.size(), pieces = problem.placeOf.size();
  if (piece == pieces)
    return begin == items ? 0 : kNone;
  double best = kNone;
  for (int end = begin + 1; end <= items; ++end)
    best = std::min(best, std::max(cost(begin, end, piece),
                                   findBest(problem, cost, end, piece + 1)));
  return best;
}

TEST(CutByCost, AgreesWithAllCuts) {
  std::mt19937 random(3);
  int numRefused = 0, numTooLarge = 0;
  for (int i = 0; i < 1000; ++i) {
    CutProblem problem = makeRandom(random);
    auto memory = [&](int begin, int end, int piece) -> double {
      return getMemory(problem, begin, end, piece);
    };
    auto params = [&](int begin, int end, int piece) -> double {
      CutProblem bare = problem;
      for (CutProblem::Item &item : bare.items)
        item.savedBytes = item.temporaryBytes = 0;
      for (CutProblem::Value &value : bare.values)
        value.keptBytes = value.receivedBytes = 0;
      return getMemory(bare, begin, end, piece);
    };
    auto timeIfItFits = [&](int begin, int end, int piece) {
      return memory(begin, end, piece) <= problem.deviceMemory
                 ? getTime(problem, begin, end)
                 : kNone;
    };
    PieceCut cut = cutByCost(problem);
    ASSERT_EQ(cut.error.empty(),
              findBest(problem, params) <= problem.deviceMemory)
        << "problem " << i << cut.error;
    if (!cut.error.empty()) {
      ++numRefused;
      continue;
    }
    double slowest = 0, largest = 0;
    for (size_t piece = 0; piece + 1 < cut.begin.size(); ++piece) {
      int begin = cut.begin[piece], end = cut.begin[piece + 1];
      slowest = std::max(slowest, getTime(problem, begin, end));
      largest = std::max(largest, memory(begin, end, piece));
    }
    ASSERT_EQ(cut.slowest, slowest) << "problem " << i;
    double best = findBest(problem, timeIfItFits);
    if (best == kNone) {
      ++numTooLarge;
      ASSERT_EQ(largest, findBest(problem, memory)) << "problem " << i;
    } else {
      ASSERT_EQ(slowest, best) << "problem " << i;
      ASSERT_LE(largest, problem.deviceMemory) << "problem " << i;
    }
  }
  EXPECT_GT(numRefused, 10);
  EXPECT_GT(numTooLarge, 50);
  EXPECT_LT(numRefused + numTooLarge, 500);
}

TEST(CutByCost, LargeModelsAreCut) {
  // 96 layers of 24 ops; little crosses between layers.
  CutProblem problem = makeChain(std::vector<double>(96 * 24, 1), 64, 3);
  for (size_t i = 23; i < problem.values.size(); i += 24)
    problem.values[i].transferTime = 1;
  // 1.5 layers a piece, and what it sends and receives.
  EXPECT_LE(cutByCost(problem).slowest, 36 + 3 + 3);
}

} // namespace
