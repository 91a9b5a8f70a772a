//===- ElementCount.cpp - What an op computes for each element ------------===//

#include "ElementCount.h"

#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::pp;
using ::ppopt::MatmulType;

MatmulType pp::getRateType(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isF64()    ? MatmulType::f64
         : type.isBF16() ? MatmulType::bf16
                         : MatmulType::f32;
}

/// Returns whether an op of the scalar code computes with integers, as a random
/// number's does.
static bool isOnIntegers(Operation &op) {
  Type result = op.getResult(0).getType();
  return isa<arith::CmpIOp>(op) ||
         (isa<IntegerType>(result) && !result.isInteger(1));
}

/// Adds one op of the scalar code of an element. Arithmetic on indices is not
/// repeated for each element, and a conversion of types is part of a load or
/// store.
static void count(Operation &op, bool draws, ElementWork &work) {
  if (isa<IndexType>(op.getResult(0).getType()) || isa<CastOpInterface>(op) ||
      op.hasTrait<OpTrait::ConstantLike>())
    return;
  ++work.operations;
  if (draws && isOnIntegers(op))
    ++work.drawing;
  else if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op))
    ++work.divisions;
  else if (isa<math::MathDialect>(op.getDialect()) &&
           !isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp,
                math::RoundEvenOp, math::FmaOp>(op))
    ++work.functions;
}

/// Returns the work of one element.
static ElementWork emitAndCount(ElementOpInterface op) {
  Block block;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  Location loc = op.getLoc();
  for (size_t i = 0, e = getShape(op->getResult(0)).size(); i < e; ++i)
    block.addArgument(builder.getIndexType(), loc);
  SmallVector<Value> index(block.getArguments());
  // Code generation reports what lacks an operand.
  ScopedDiagnosticHandler silent(op.getContext(),
                                 [](Diagnostic &) { return success(); });
  op.emitElement(builder, index, [&](unsigned operand, ValueRange) -> Value {
    Type type =
        getStatisticsType(getElementTypeOrSelf(op->getOperand(operand)));
    return block.addArgument(type, loc);
  });
  auto space = dyn_cast<IterationSpaceOpInterface>(op.getOperation());
  bool draws = space && space.drawsNumbers();
  ElementWork work;
  for (Operation &emitted : block)
    count(emitted, draws, work);
  work.draws = draws;
  return work;
}

ElementWork pp::countElements(Operation *op, double elements) {
  ElementWork work;
  auto element = dyn_cast<ElementOpInterface>(op);
  if (!element) {
    work.computed = elements;
    return work;
  }
  ElementWork each = emitAndCount(element);
  if (each.operations == 0) {
    work.moved = elements;
    return work;
  }
  work.computed = elements;
  // A broadcast operand may have made more elements than the result has.
  work.operations = (each.operations - 1) * elements;
  work.divisions = each.divisions * elements;
  work.functions = each.functions * elements;
  work.draws = each.draws * elements;
  work.drawing = each.drawing * elements;
  return work;
}
