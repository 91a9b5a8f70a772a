//===- LinesAlongDim.h - Code of the lines along a dimension --------------===//

#ifndef PPOPT_CODEGEN_LINESALONGDIM_H
#define PPOPT_CODEGEN_LINESALONGDIM_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/AlongDim.h"
#include "ppopt/Dialect/PP/IndexOps.h"

namespace mlir::pp {

/// Gives the puller the position of a scalar: all elements are pulled at
/// indices.
void setNoPosition(ElementPuller &puller);

/// A line: the index before the dimension, and the number of the one after it.
struct Line {
  SmallVector<Value> outer;
  Value outerNumber, inner;
};

/// Emits the code of an op that works along a dimension of its operands, line
/// by line.
class LinesAlongDim {
public:
  LinesAlongDim(ElementPuller &puller, Value tensor, int64_t dim);

  /// Returns the line of this number.
  Line getLine(Value number);
  Line getLine(Value outerNumber, Value inner);
  /// Returns the element of `value`, of the tensor's shape or one that differs
  /// along the dimension.
  Value pull(Value value, const Line &line, Value at);
  /// Returns the number of an element in the tensor's buffer.
  Value locate(const Line &line, Value at);

  AlongDim along;

private:
  ElementPuller &puller;
};

/// Emits what a scatter does in a line.
class ScatterLine {
public:
  ScatterLine(ElementPuller &puller, ScatterAddOp op);

  /// Whether the line's elements have values at first that are not in the
  /// buffer.
  bool startsElsewhere();
  /// Writes an element's first value.
  void emitStart(const Line &line, Value at);
  /// Returns the id of an update.
  Value pullId(const Line &line, Value at);
  /// Adds an update to the element that its id names, if there is one.
  void emitAddition(const Line &line, Value at, Value id);
  /// Returns whether the updates at one index along the dimension have one id.
  bool hasUniformIds();

  int64_t countUpdates();

  LinesAlongDim lines;

private:
  Value sum(Value a, Value b);
  void addTo(Value at, Value added);

  ElementPuller &puller;
  ScatterAddOp op;
  bool accumulates; ///< the kernel adds to an accumulator
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_LINESALONGDIM_H
