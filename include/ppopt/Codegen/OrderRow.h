//===- OrderRow.h - Code that orders the elements of a row ----------------===//

#ifndef PPOPT_CODEGEN_ORDERROW_H
#define PPOPT_CODEGEN_ORDERROW_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/IndexOps.h"

namespace mlir::pp {

/// Emits what kernels of form order share. An element has a key, an unsigned
/// integer; the smaller one comes first, and of equal ones that of the lower
/// index.
///
/// A row is sorted where its result is, as entries. An entry has the key in its
/// upper 32 bits and the index in its lower ones; where keys have 64 bits it is
/// the index.
class OrderRow {
public:
  OrderRow(ElementPuller &puller, OrderOp op);

  /// All that follows is of this row.
  void setRow(Value row);

  /// Whether the result has all elements.
  bool isSorted() const { return count == size; }
  /// Returns the key of element `i`.
  Value pullKey(Value i);
  /// Writes an index as element `place` of the result.
  void storeId(Value id, Value place);
  Value loadId(Value place);

  /// Writes the entry of element `i` in its place.
  void storeEntry(Value i);
  /// Gives the entries in places a and b, of which a is lower, their order.
  void exchange(Value a, Value b);
  /// Replaces the entry in a place by its index.
  void finishEntry(Value place);

  int64_t size, count; ///< elements of a row, and of a row of the result
  IntegerType keyType;

private:
  Value isBefore(Value a, Value b);
  Value pullKeyOf(Value entry);

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  OrderOp op;
  bool isPacked;
  SmallVector<Value> rowIndex;
  Value first; ///< the number of the row's first element in the result
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_ORDERROW_H
