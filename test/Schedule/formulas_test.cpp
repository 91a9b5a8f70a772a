//===- formulas_test.cpp - Published figures, read off the simulation -----===//
//
// p places, m microbatches, v chunks a place, r = rank; F, I, W are the times
// of a forward, an input part and a weight part of one stage. All on chains of
// equal stages with free transfers.
//
//===----------------------------------------------------------------------===//

#include "graphs.h"

#include <algorithm>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// A schedule on a chain that it wants, simulated.
struct Simulated {
  Simulated(std::string_view name, int places, int microbatches,
            double forward = 1, double input = 1, double weight = 1,
            std::optional<int> chunks = std::nullopt)
      : graph(makeChainFor(name, places, forward, input, weight, /*bytes=*/8,
                           chunks)),
        table(makeTable(name, graph, microbatches)),
        timeline(simulate(table, graph, {})) {
    work = (forward + input + weight) * microbatches * graph.stages.size() /
           places;
  }

  /// Time in which a place does nothing, the barrier at the end included.
  double getBubble() const { return timeline.end - work; }
  /// Of one place, between its first and its last cell.
  double getBubble(int rank) const {
    const std::vector<TimedCell> &row = timeline.rows[rank];
    return row.back().end - row.front().start - work;
  }
  int getInFlight(int rank) const {
    return timeline.getInFlight(table, graph, rank);
  }

  StageGraph graph;
  Table table;
  Timeline timeline;
  double work = 0; ///< of a place
};

template <typename Body> void forAllSizes(Body body) {
  for (int p = 2; p <= 8; ++p)
    for (int m = 1; m <= 16; ++m) {
      SCOPED_TRACE(std::to_string(p) + " places, " + std::to_string(m) +
                   " microbatches");
      body(p, m);
    }
}

/// F=1, full backward 2, p=4, m=8: idle 27.3 %.
TEST(Formulas, ToyExample) {
  int expected[2][4] = {{8, 8, 8, 8}, {4, 3, 2, 1}};
  const char *names[] = {"gpipe", "1f1b"};
  for (int i = 0; i < 2; ++i) {
    Simulated run(names[i], 4, 8);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_NEAR(run.timeline.getIdleShare(rank), 0.273, 5e-4);
      EXPECT_EQ(run.getInFlight(rank), expected[i][rank]);
    }
  }
}

TEST(Formulas, NaiveRunsOneStageAtATime) {
  for (int p = 2; p <= 8; ++p) {
    Simulated run("naive", p, 1, 2, 3, 1);
    for (int rank = 0; rank < p; ++rank) {
      EXPECT_NEAR(run.timeline.getIdleShare(rank), 1 - 1.0 / p, 1e-12);
      EXPECT_EQ(run.getInFlight(rank), 1);
    }
  }
}

/// (p-1)/(m+p-1), whatever F and B are.
TEST(Formulas, GPipeAndOneForwardOneBackwardIdleAlike) {
  forAllSizes([](int p, int m) {
    for (const char *name : {"gpipe", "1f1b"})
      for (double input : {1.0, 2.5}) {
        Simulated run(name, p, m, 1, input, 0.5);
        for (int rank = 0; rank < p; ++rank) {
          EXPECT_NEAR(run.timeline.getIdleShare(rank), (p - 1.0) / (m + p - 1),
                      1e-12);
          EXPECT_EQ(run.getInFlight(rank),
                    name == std::string("gpipe") ? m : std::min(m, p - rank));
        }
      }
  });
}

/// (p-1)/(m v) of the work, where m is a multiple of p; a rank holds
/// (2(p-r-1) + (v-1)p + 1)/v microbatches, or all.
TEST(Formulas, Interleaved) {
  forAllSizes([](int p, int m) {
    for (int v = 2; v <= 4; ++v) {
      Simulated run("interleaved", p, m, 1, 1.5, 0.5, v);
      if (m % p == 0)
        EXPECT_NEAR(run.getBubble() / run.work, (p - 1.0) / (m * v), 1e-12);
      for (int rank = 0; rank < p; ++rank) {
        int most = std::min(2 * (p - rank - 1) + (v - 1) * p + 1, m * v);
        if (m % p == 0)
          EXPECT_EQ(run.getInFlight(rank), most);
        else
          EXPECT_LE(run.getInFlight(rank), most);
      }
    }
  });
}

/// (p-1)(F + B - 2W) = (p-1)(F + I - W), where W is no longer than F and I and
/// m >= p: with fewer microbatches there are not enough weight parts to fill
/// the gaps, one is missing for each.
TEST(Formulas, ZeroBubbleH1) {
  forAllSizes([](int p, int m) {
    for (auto [F, I, W] : {std::tuple(1.0, 1.0, 1.0), {2.0, 2.0, 1.0}}) {
      Simulated run("zb-h1", p, m, F, I, W);
      EXPECT_NEAR(run.getBubble(),
                  (p - 1) * (F + I) - std::min(p - 1, m - 1) * W, 1e-12);
      for (int rank = 0; rank < p; ++rank)
        EXPECT_EQ(run.getInFlight(rank), std::min(m, p));
    }
    // A third of 1f1b's where the parts are equal.
    if (m >= p)
      EXPECT_NEAR(Simulated("zb-h1", p, m).getBubble() * 3,
                  Simulated("1f1b", p, m).getBubble(), 1e-12);
  });
}

/// A place never waits once it has begun, where F = I = W and m >= 2p-1. The
/// last place begins p-1 later than the first: with a barrier before the update
/// that is what is left. Two chunks a place: p microbatches are 2p chunks.
TEST(Formulas, ZeroBubbleV) {
  forAllSizes([](int p, int m) {
    Simulated run("zb-v", p, m);
    for (int rank = 0; rank < p; ++rank) {
      EXPECT_LE(run.getInFlight(rank), 2 * p);
      if (m < 2 * p - 1)
        continue;
      EXPECT_NEAR(run.getBubble(rank), 0, 1e-12);
      EXPECT_EQ(run.getInFlight(rank), 2 * p);
    }
    if (m >= 2 * p - 1)
      EXPECT_NEAR(run.getBubble(), p - 1, 1e-12);
  });
}

/// Published: (p-1)(F&B + B - 3W), F&B being the time of an overlapped pair.
/// Taken apart F&B is F + I + W, so that would be (p-1)(F + 2I - W); but what
/// the first of the pair makes does not wait for the second, which takes an I
/// off. Holds for m >= 2p and F >= I >= W. 2p+1 chunks on each place.
TEST(Formulas, DualPipeV) {
  forAllSizes([](int p, int m) {
    for (auto [F, I, W] : {std::tuple(1.0, 1.0, 1.0), {2.0, 2.0, 1.0}}) {
      Simulated run("dualpipe-v", p, m, F, I, W);
      if (m >= 2 * p)
        EXPECT_NEAR(run.getBubble(), (p - 1) * (F + I - W), 1e-12);
      for (int rank = 0; rank < p; ++rank) {
        EXPECT_LE(run.getInFlight(rank), 2 * p + 1);
        if (m >= 2 * p)
          EXPECT_EQ(run.getInFlight(rank), 2 * p + 1);
      }
    }
  });
}

/// Each boundary between places is crossed once per microbatch in each
/// direction; the chunked schedules have more boundaries, the V one fewer than
/// twice as many, since it turns round on the last place.
TEST(Formulas, BytesSent) {
  forAllSizes([](int p, int m) {
    for (const std::string &name : getScheduleNames()) {
      if (name == "naive" && m > 1)
        continue;
      Simulated run(name, p, m);
      int64_t bytes = 0;
      for (const TimedTransfer &transfer : run.timeline.transfers)
        bytes += run.graph.edges[transfer.edge].bytes;
      int boundaries = name == "interleaved"                    ? 2 * p - 1
                       : name == "zb-v" || name == "dualpipe-v" ? 2 * (p - 1)
                                                                : p - 1;
      EXPECT_EQ(bytes, int64_t(8) * 2 * boundaries * m) << name;
    }
  });
}

} // namespace
