//===- DeviceScores.h - Changed and hidden scores, on a GPU ---------------===//
//
// Between its two matmuls, attention changes scores and hides some:
//
//   x = cap tanh(s / cap) + slope (key - position) + bias
//
// where the position of query t is t + keys - queries. A query sees a key if
// causality, the window, the mask and the segments all say so. Which keys a
// tile of queries may see at all follows from positions, and from segments once
// they are loaded.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_DEVICESCORES_H
#define PPOPT_LIB_CODEGEN_CUDA_DEVICESCORES_H

#include "DeviceAttention.h"

namespace mlir::pp {

/// Numbers of queries or keys, [begin, end).
struct SeenRange {
  Value begin, end;
};

/// Returns the bytes of shared memory, at its end, in which threads of a block
/// find the keys or queries of their segments.
int64_t countSegmentBytes(KernelOp kernel, int64_t threads);

/// Emits what changes and hides scores of the code's current head. Tiles are of
/// so many queries and keys, and may have some that do not exist: of these the
/// numbers are any finite ones.
class DeviceScores : public AttentionScores {
public:
  DeviceScores(DeviceAttention &code, int64_t queriesOfTile,
               int64_t keysOfTile);

  /// Whether scores are other than scaled products.
  bool change() const { return softCap != 0 || slopes || bias; }
  /// Whether more than positions decide which keys a query sees.
  bool hideElements() const { return mask || segments; }
  /// Whether a query may see no key of a tile, though others do, or none at
  /// all. (Else a query of causal attention sees the first key.)
  bool hideRows() const { return hideElements() || bias || window != 0; }
  /// Whether keys that a query sees are those up to its number.
  bool isDiagonal() const {
    return code.isCausal && code.keys == code.queries && window == 0 &&
           !hideElements();
  }

  //===--- Scores ---------------------------------------------------------===//

  /// Returns a score that is changed. `slope`, unless it is null, becomes the
  /// derivative by the score, or null for one.
  Value change(Value score, Value query, Value key, Value *slope = nullptr);
  /// Returns whether a query sees a key that exists: by their positions, by
  /// what is said of each, by both. Null is true.
  Value isSeenByPosition(Value query, Value key);
  Value isSeenByElement(Value query, Value key);
  Value isSeen(Value query, Value key);
  /// Return whether a key exists, if an existing query may be said to see one
  /// that does not, and whether a query exists; null is true.
  Value isKey(Value key);
  Value isQuery(Value query);

  //===--- Rows -----------------------------------------------------------===//

  // A row that has seen no key has a maximum of -infinity and a sum of 0. Its
  // output is 0, and the log of its sum infinity, of which all probabilities
  // are 0.

  /// Returns what is subtracted from a row's scores before the exponential.
  Value getBase(Value maximum);
  /// Returns what a row's output is divided by.
  Value getDivisor(Value sum);
  /// Stores both parts of a query's log-sum-exp.
  void storeLse(Value maximum, Value sum, Value lse, Value query);

  //===--- Ranges by positions --------------------------------------------===//

  Value getPosition(Value query);
  /// The keys that a query sees lie in [first, end), the queries that see a key
  /// likewise. Ends may be beyond the last; null: all. These numbers do not
  /// fall where their operand grows.
  Value getFirstKey(Value query);
  Value getEndKey(Value query);
  Value getFirstQuery(Value key);
  Value getEndQuery(Value key);
  /// Returns keys that some of `count` queries see, from a multiple of `step`
  /// on, and those that all of them see, by positions; queries that see some,
  /// or all, of `count` keys. `first` is the first of these queries or keys.
  SeenRange getKeys(Value first, int64_t count, int64_t step);
  SeenRange getKeysOfAll(Value first, int64_t count);
  SeenRange getQueries(Value first, int64_t count, int64_t step);
  SeenRange getQueriesOfAll(Value first, int64_t count);
  /// Stores zeros for `count` queries and all keys outside of a range.
  void clearOutside(Value result, Value firstQuery, int64_t count,
                    SeenRange keys, int64_t threads);

private:
  Value load(Value operand, ArrayRef<Value> indices);
  Value clampQuery(Value query);
  Value clampKey(Value key);
  Value selectWhere(Value number, double equals, double then, Value otherwise);
  /// Returns number + by: one addition to what is no such sum.
  Value shift(Value number, int64_t by);
  /// Returns a - b, or 0 if that is less.
  Value subtract(Value a, int64_t b);
  Value alignDown(Value number, int64_t step);
  SeenRange makeRange(Value begin, Value end, int64_t count);
  /// Returns the part of a range, of keys or queries, from the first to the
  /// last whose segment lies between those of `count` others, from `first` on.
  SeenRange narrow(SeenRange range, Value first, int64_t count, int64_t step);
  Value combineWarp(Value value, bool isMaximum);
  Value emitExtreme(Value a, Value b, bool isMaximum);

  DeviceAttention &code;
  bool areQueriesWhole, areKeysWhole; ///< in tiles
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_DEVICESCORES_H
