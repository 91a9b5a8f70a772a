//===- AxisParts.h - Computing parts of ops along one axis ------*- C++ -*-===//
//
// The axis has as many parts (docs/sharding.md) as iterations: rows of a batch,
// positions of a sequence. Ops are computed for a range of them. So that each
// range of a value is contiguous, the axis cuts a dimension with one outer
// part: the period of the cut is the size of the dimension, and an iteration
// has size / iterations of its elements.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_AXISPARTS_H
#define PPOPT_ANALYSIS_AXISPARTS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The dimension of a value that the axis cuts. None: the value is the same for
/// each iteration.
using AxisDim = std::optional<unsigned>;

/// An op, and the loop of it that the axis cuts.
struct CutOp {
  IterationSpaceOpInterface op;
  IterationSpace space;
  unsigned loop;

  LoopKind getKind() const { return space.loops[loop].kind; }
  /// Returns the dimension of an operand or result that the axis cuts. Fails if
  /// the iterations are scattered in it: the loop is a minor one of its
  /// dimension.
  FailureOr<AxisDim> findDim(const TensorLoops &tensor) const;
};

/// Returns whether the op is a constant with differing elements, which can't be
/// given a smaller shape.
bool isTable(Operation *op);

/// An axis of at least two iterations.
class IterationAxis {
public:
  explicit IterationAxis(int64_t iterations) : iterations(iterations) {}

  int64_t getIterations() const { return iterations; }
  /// Returns the loop that the axis cuts if it cuts a dimension that runs over
  /// `dimLoops`. Returns nothing if it cuts no single loop: a reshape that
  /// mixes iterations, a dimension that is broadcast.
  std::optional<unsigned> findLoop(const IterationSpace &space,
                                   ArrayRef<unsigned> dimLoops) const;
  /// Returns the elements of a cut dimension that an iteration has.
  int64_t getUnit(Value value, unsigned dim) const;
  /// Returns the type of `count` iterations of a value.
  RankedTensorType getPartType(Value value, AxisDim dim, int64_t count) const;

  /// Returns what the op is told if the axis has a coordinate for each
  /// iteration, and element `at` of the random key is the coordinate.
  Localization localize(const CutOp &cut, StringAttr name, int64_t at) const;
  /// Returns whether some iterations of the op depend on which they are: the
  /// op records its tile.
  bool dependsOnPosition(const CutOp &cut) const;

  /// Returns how to compute some iterations of a whole value, if a dimension of
  /// it is cut. Returns nothing for a parameter, a table, one of several
  /// results, or if the loop is not parallel.
  std::optional<CutOp> findComputation(Value value, unsigned dim) const;
  /// Clones an op for `count` iterations, on operands that are theirs. Checks
  /// the clone against the iteration space: the loop may be cut, dimensions
  /// that run over it have `count` iterations, all else is unchanged, and the
  /// clone is valid. Emits an error if not.
  FailureOr<Operation *> clonePart(OpBuilder &builder, const CutOp &cut,
                                   ValueRange operands, int64_t count) const;

private:
  LogicalResult verifyPart(const CutOp &cut, Operation *part,
                           int64_t count) const;

  int64_t iterations;
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_AXISPARTS_H
