//===- CutByCost.h - Cuts a list of ops into equally slow pieces ----------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H
#define PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mlir::pp {

/// Items in an order in which each stands behind what it reads. Times are in
/// one unit, memory is in bytes.
struct CutProblem {
  struct Item {
    double time = 0;         ///< forward and backward, of one microbatch
    int64_t savedBytes = 0;  ///< kept for the backward, of one microbatch
    std::vector<int> reads;  ///< indices of values, each once
    std::vector<int> params; ///< each once
  };
  struct Value {
    int item = 0; ///< the one that makes it
    /// To the next place, and its gradient back if it has one.
    double transferTime = 0;
  };

  std::vector<Item> items;
  std::vector<Value> values; ///< by the item that makes them
  /// Of each parameter: itself, its gradient and the optimizer's states.
  std::vector<int64_t> paramBytes;
  /// One entry for each piece, in order.
  std::vector<int> placeOf;
  /// How many microbatches a piece holds at once; one entry for each piece,
  /// not read if there are fewer items than pieces.
  std::vector<int> inFlight;
  /// What a place has; nothing is larger by default.
  int64_t deviceMemory = std::numeric_limits<int64_t>::max();
};

struct Cut {
  /// Piece k holds the items [begin[k], begin[k + 1]); one entry more than
  /// pieces.
  std::vector<int> begin;
  double slowest = 0; ///< time of the slowest piece
  /// Not empty: there is no cut, in one line that says why and what would help.
  std::string error;
};

/// Cuts the items into contiguous pieces, none empty, so that the slowest is as
/// fast as can be. A piece takes the time of its items and of its transfers:
/// each value that it reads from another place, and each value of its own that
/// is read behind it (once, however many pieces read it). Of the cuts whose
/// slowest piece takes the same time, the one with the least sum of squares is
/// taken.
///
/// What a place has is kept to as far as the estimate of the activations goes.
/// If no cut keeps to it, the one whose largest piece needs least is taken; an
/// error only if some piece's parameters alone are too much in every cut.
///
/// Exact by dynamic programming over the cut points: every position if there
/// are at most `maxCutPoints` items, else of each window of equal time the one
/// that the fewest transfers cross.
Cut cutByCost(const CutProblem &problem, int maxCutPoints = 1000);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H
