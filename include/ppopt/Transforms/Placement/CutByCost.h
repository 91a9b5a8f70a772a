//===- CutByCost.h - Cuts a list of ops into equally slow pieces ----------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H
#define PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mlir::pp {

/// Items in an order in which each comes after what it reads. All times have
/// one unit; memory is in bytes.
struct CutProblem {
  struct Item {
    double time = 0;            ///< forward and backward, per microbatch
    int64_t savedBytes = 0;     ///< kept for its backward, per microbatch
    int64_t temporaryBytes = 0; ///< while it, or its backward, is computed
    std::vector<int> reads;     ///< indices of values, each once
    std::vector<int> params;    ///< each once
  };
  struct Value {
    int item = 0; ///< the item that makes it
    /// To the next place, plus the gradient back if there is one.
    double transferTime = 0;
    /// What a piece keeps of it for the backward, per microbatch: of which a
    /// later item reads it, and that receives it.
    int64_t keptBytes = 0, receivedBytes = 0;
  };

  std::vector<Item> items;
  std::vector<Value> values; ///< by the item that makes them
  /// The bytes of each parameter with its gradient and optimizer states.
  std::vector<int64_t> paramBytes;
  /// One entry per piece, in order.
  std::vector<int> placeOf;
  /// The number of microbatches that a piece holds at once; one entry per
  /// piece. Not read if there are fewer items than pieces.
  std::vector<int> inFlight;
  /// The moments at which a place with several pieces may hold most: how many
  /// microbatches each of its pieces holds then, in their order. Its pieces
  /// seldom hold most at the same moment; without moments they are taken to.
  struct Moment {
    int place = 0;
    std::vector<int> inFlight;
  };
  std::vector<Moment> moments;
  /// The memory of a place; unlimited by default.
  int64_t deviceMemory = std::numeric_limits<int64_t>::max();
  /// What the estimates may fill of it.
  int64_t fillMemory = std::numeric_limits<int64_t>::max();
};

struct PieceCut {
  /// Piece k holds the items [begin[k], begin[k + 1]). One entry more than
  /// pieces.
  std::vector<int> begin;
  double slowest = 0; ///< time of the slowest piece
  /// If not empty, there is no cut: one line that says why and what would help.
  std::string error;
};

/// Cuts the items into contiguous, non-empty pieces so that the slowest piece
/// is as fast as possible. A piece takes the time of its items and of its
/// transfers: each value that it reads from another place, and each value of
/// its own that a later piece reads (once, however many pieces read it). Among
/// cuts whose slowest piece takes the same time, the one with the least sum of
/// squares is chosen.
///
/// A piece needs the bytes of its parameters, what it keeps of each microbatch
/// in flight, and the most temporaries that one of its items needs. This is an
/// estimate, not a bound: packed buffers may need more, and shared ones less.
///
/// The cut respects the memory of a place as far as the estimate of the
/// activations goes. Where the pieces of a place need too much together, all
/// pieces are limited alike, by no more than is needed. If no cut fits, the one
/// whose largest piece needs least is chosen. It is an error only if in every
/// cut the parameters of some piece alone are too large.
///
/// Exact by dynamic programming over the cut points. Every position is a cut
/// point if there are at most `maxCutPoints` items; otherwise, in each window
/// of equal time, the position that the fewest transfers cross.
PieceCut cutByCost(const CutProblem &problem, int maxCutPoints = 1000);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_CUTBYCOST_H
