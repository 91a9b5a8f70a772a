//===- AttentionScores.h - What changes and hides scores ------------------===//
//
// Code for the scores of a block of queries and a block of keys: the soft cap,
// slopes and bias that change them, and what hides keys (causality, a window, a
// mask, segments).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_ATTENTIONSCORES_H
#define PPOPT_LIB_CODEGEN_CPU_ATTENTIONSCORES_H

#include "EmitAttention.h"

namespace mlir::pp {

/// How the scores of some queries and a block of keys are computed.
enum class ScoreMode {
  Plain,  ///< a whole block, of which no score changes
  Whole,  ///< a whole block; scores change, or a mask or segments hide keys
  Partial ///< the keys of a ScoreRange
};

/// The keys of a block that some queries see: columns [begin, end), none unless
/// begin is less. `begin` is a multiple of a vector and of a group of rows.
struct ScoreRange {
  Value begin, end;
  /// Whether that mode fits; null: never.
  Value isPlain, isWhole;
};

/// What the scores of one query need.
struct ScoreRow {
  Value position;
  /// The columns whose positions the query sees; null: all from or up to there.
  Value from, to;
  Value bias, mask; ///< addresses of the block's first key
  Value segment;
};

class ScoreCode {
public:
  explicit ScoreCode(AttentionCode &c)
      : c(c), changes(getAttentionOp().getAttentionScores()) {}

  bool hasChanges() const {
    return changes.softCap != 0 || changes.slopes || changes.bias;
  }
  bool hasSoftCap() const { return changes.softCap != 0; }
  /// Whether blocks of keys are left out that are not just the last ones of a
  /// query.
  bool skipsBlocks() const {
    return changes.window != 0 || changes.mask || changes.segments;
  }

  /// Whether there may be queries that see no key. A bias may be -infinity.
  bool hidesRows() const { return changes.mask || changes.bias; }

  /// Allocates scratch memory for blocks of at most so many queries and keys.
  void allocate(int64_t queries, int64_t keys);
  /// Selects blocks. Counts are of those that are there; blocks have the sizes
  /// of `allocate`.
  void startQueries(Value first, Value count);
  void startKeys(Value first, Value count);

  /// By position alone: the first and last keys [begin, end) that queries
  /// [first, first + count) may see, of all keys, and the queries that may see
  /// keys [first, first + count).
  std::pair<Value, Value> getKeysOf(Value first, Value count);
  std::pair<Value, Value> getQueriesOf(Value first, Value count);
  /// Returns whether the segments of the selected blocks overlap; null: always.
  Value mayOverlap();

  /// Calls `emit` for each mode that a range may need, where that is its mode.
  void forModes(const ScoreRange &range,
                llvm::function_ref<void(ScoreMode)> emit);
  /// Of rows [row, row + rows) of the block of queries; `rows` is a multiple of
  /// a vector.
  ScoreRange getRange(Value row, int64_t rows);
  /// Returns the end of the columns that a row sees by its position.
  Value getEnd(Value row);
  Value getBegin(Value row);

  /// Emits a matmul of rows of queries and columns of the block's keys, without
  /// the columns that `mode` leaves out. `getEndOfGroup`: of the columns that
  /// the rows of a group, from its first row on, need.
  void multiply(BlockMatmul matmul, const ScoreRange &range, ScoreMode mode,
                llvm::function_ref<Value(Value row)> getEndOfGroup);

  ScoreRow getRow(Value row, ScoreMode mode);
  /// The same for a query at a position; the operands have no mask, bias or
  /// segments.
  ScoreRow getRowAt(Value position);
  /// Returns the scores of a vector of columns after the changes. `slope`, if
  /// given, becomes their derivative; null if that is 1.
  Value change(const ScoreRow &row, Value column, Value scores,
               Value *slope = nullptr);
  /// Returns `x` where keys are seen, else `outside`.
  Value hide(const ScoreRow &row, Value column, Value x, double outside);

  /// Stores a vector of columns to a row that has all keys of the tensor, from
  /// `pointer` on.
  void storeKeys(Value x, Value pointer, Value column);

private:
  AttentionOpInterface getAttentionOp();
  /// Keys this far after the query's position are hidden; 0: none.
  int64_t getReach() const { return c.isCausal ? 1 : changes.window; }
  bool isBroadcastOverKeys(Value operand);
  Value keysFrom(Value operand, Value row);
  Value loadKeys(Value operand, Value pointer, Type element, Value column);
  Value isBelow(Value bound);
  std::pair<Value, Value> scanMask(Value row, int64_t rows);
  void narrowToSegments(ScoreRange &range, Value row, int64_t rows);
  Type getIdType();
  Value allocateIds(int64_t count);
  Value loadIds(Value ids, Value at);
  Value loadId(Value ids, Value at);
  void storeId(Value id, Value ids, Value at);
  void packIds(Value ids, Value first, Value count, int64_t size);
  std::pair<Value, Value> getExtremes(Value ids, Value first, int64_t count);
  Value both(Value a, Value b);
  Value isEqual(Value a, Value b);
  Value isAtMost(Value a, Value b);

  AttentionCode &c;
  AttentionScores changes;
  int64_t queriesOfBlock = 0, keysOfBlock = 0;
  Value firstQuery, queryCount, firstKey, keyCount;
  Value slope;
  /// Segments of the queries and keys of a block; the least and largest of each
  /// vector of keys.
  Value queryIds, keyIds, leastIds, mostIds;
  /// Of the block of keys.
  Value leastKey, mostKey;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_ATTENTIONSCORES_H
