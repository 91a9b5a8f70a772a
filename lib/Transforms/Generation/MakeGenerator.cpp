//===- MakeGenerator.cpp - Computes the logits after one token ------------===//
//
// Before: the model's entry on global shapes. After: an entry for one token at
// a position, with caches of the earlier positions. See Passes.td for both.
//
//===----------------------------------------------------------------------===//

#include "AxisNarrowing.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Generation/Generation.h"
#include "ppopt/Transforms/Generation/Passes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Placement/AssignPlaces.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

namespace mlir::pp {
#define GEN_PASS_DEF_MAKEGENERATOR
#include "ppopt/Transforms/Generation/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

//===----------------------------------------------------------------------===//
// The source of the logits
//===----------------------------------------------------------------------===//

/// The part of a model that computes the logits.
struct LogitsSource {
  Value logits;
  BlockArgument tokens; ///< [rows, positions]
  llvm::SetVector<Operation *> ops;
};

int64_t getShift(BlockArgument input) {
  auto entry = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto shift =
      entry.getArgAttrOfType<IntegerAttr>(input.getArgNumber(), kShiftAttr);
  return shift ? shift.getInt() : 0;
}

/// Returns the input that a value is, looking through reshapes.
BlockArgument findInput(Value value) {
  while (auto view = value.getDefiningOp<ReshapeOp>())
    value = view.getX();
  return dyn_cast<BlockArgument>(value);
}

/// Returns the op that scores the classes of an input's tokens.
FailureOr<ScoreOpInterface> findScores(func::FuncOp entry) {
  ScoreOpInterface found;
  for (Operation &op : entry.getBody().front()) {
    auto score = dyn_cast<ScoreOpInterface>(op);
    if (!score)
      continue;
    if (found) {
      InFlightDiagnostic diag =
          op.emitOpError("scores classes, and another op does so too: which of "
                         "them scores the next token is not known");
      diag.attachNote(found.getLoc()) << "the other is here";
      return diag;
    }
    found = score;
  }
  if (!found)
    return entry.emitError("the model generates no tokens: no loss of it "
                           "scores classes (pp.cross_entropy)"),
           failure();
  return found;
}

/// Finds all ops that the logits need, in program order, and the one input that
/// they need.
FailureOr<LogitsSource> findSource(func::FuncOp entry, ScoreOpInterface score) {
  LogitsSource source;
  source.logits = score.getScores();
  DenseSet<Operation *> needed;
  SmallVector<Value> worklist = {source.logits};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) {
      if (needed.insert(value.getDefiningOp()).second)
        worklist.append(value.getDefiningOp()->operand_begin(),
                        value.getDefiningOp()->operand_end());
      continue;
    }
    if (source.tokens && source.tokens != argument) {
      InFlightDiagnostic diag =
          emitError(argument.getLoc())
          << "the model can't generate: its logits need two inputs, and "
             "generation has the tokens so far alone";
      diag.attachNote(source.tokens.getLoc()) << "the other is here";
      return diag;
    }
    source.tokens = argument;
  }
  if (!source.tokens)
    return score.emitOpError(
        "scores a value that does not depend on any input");
  for (Operation &op : entry.getBody().front())
    if (needed.contains(&op) || isa<ParamOp>(op))
      source.ops.insert(&op);
  return source;
}

/// Checks that the scores are for the token after each token that the model
/// reads.
LogicalResult checkTokens(const LogitsSource &source, ScoreOpInterface score) {
  auto type = cast<RankedTensorType>(source.tokens.getType());
  if (type.getRank() != 2 || !isa<IntegerType>(type.getElementType()))
    return emitError(source.tokens.getLoc())
           << "the model can't generate: its input of " << type
           << " is not tokens [rows, positions]";
  BlockArgument targets = findInput(score.getRightClasses());
  if (!targets || getShift(targets) != getShift(source.tokens) + 1) {
    InFlightDiagnostic diag = score.emitOpError(
        "does not score the next token: its classes are not an input of tokens "
        "one after those that the logits are computed from (pp.shift)");
    diag.attachNote(source.tokens.getLoc()) << "these are here";
    return diag;
  }
  int64_t classes = getShape(source.logits).back();
  std::optional<int64_t> least;
  for (Operation *each : source.ops)
    if (auto op = dyn_cast<IterationSpaceOpInterface>(each))
      for (OpOperand &operand : op->getOpOperands())
        if (auto range = op.getIndexRange(operand.getOperandNumber()))
          for (const ElementBox &box : findIndexSources(operand.get()))
            if (box.value == source.tokens)
              least = std::min(least.value_or(range->end), range->end);
  if (least && *least < classes) {
    InFlightDiagnostic diag = score.emitOpError("scores ")
                              << classes << " classes, but the tokens that "
                              << "the model reads are below " << *least;
    diag.attachNote(source.tokens.getLoc()) << "these are here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One row of the batch
//===----------------------------------------------------------------------===//

class RowNarrowing : public AxisNarrowing {
public:
  using AxisNarrowing::AxisNarrowing;

private:
  InFlightDiagnostic refuse(Operation *op) override {
    return op->emitOpError("can't be computed for one row of the batch: ");
  }
  StringRef nameIterations() const override { return "rows of the batch"; }
  StringRef nameAxis() const override { return "row"; }

  /// An op that counts along the rows has no position. (Dropout needs none in
  /// a program that generates.)
  bool locate(IterationSpaceOpInterface op,
              const Localization &localization) override {
    if (op.needsRandomKey())
      return true;
    op.localize(localization);
    return !op.needsRandomKey();
  }
  Value read(Value, unsigned) override { return Value(); }
};

//===----------------------------------------------------------------------===//
// One position
//===----------------------------------------------------------------------===//

class PositionNarrowing : public AxisNarrowing {
public:
  PositionNarrowing(OpBuilder &builder, int64_t extent, func::FuncOp entry,
                    Value position)
      : AxisNarrowing(builder, extent), entry(entry), position(position) {}

  /// The caches after the position has been added.
  SmallVector<Value> caches;

private:
  InFlightDiagnostic refuse(Operation *op) override {
    return op->emitOpError("can't be computed one position at a time: ");
  }
  StringRef nameIterations() const override { return "positions"; }
  StringRef nameAxis() const override { return "position"; }
  bool locate(IterationSpaceOpInterface op,
              const Localization &localization) override;
  Value read(Value whole, unsigned dim) override;
  FailureOr<bool> narrowSpecially(Operation &op) override;
  Value getKey();

  func::FuncOp entry;
  Value position;
  Value key;
};

/// Returns a random key whose microbatch is the position; nothing is trained.
Value PositionNarrowing::getKey() {
  if (key)
    return key;
  Location loc = position.getLoc();
  Type i64 = builder.getI64Type();
  auto zeros = [&](int64_t count) -> Value {
    auto type = RankedTensorType::get({count}, i64);
    return ConstantOp::create(builder, loc, type,
                              DenseElementsAttr::get(type, int64_t(0)));
  };
  int64_t before = indexOf(KeyElement::Microbatch);
  return key = ConcatOp::create(builder, loc,
                                ValueRange{zeros(before), position,
                                           zeros(kKeyElements - before - 1)},
                                /*dim=*/0);
}

bool PositionNarrowing::locate(IterationSpaceOpInterface op,
                               const Localization &localization) {
  op.localize(localization);
  if (op.needsRandomKey()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    op->insertOperands(op->getNumOperands(), getKey());
  }
  return true;
}

/// Looks up the position in a table with one row per position of the value.
Value PositionNarrowing::read(Value whole, unsigned dim) {
  if (!isa<FloatType>(getElementTypeOrSelf(whole)))
    return Value();
  Location loc = whole.getLoc();
  ArrayRef<int64_t> shape = getShape(whole);
  auto reshape = [&](Value x, ArrayRef<int64_t> to) -> Value {
    if (getShape(x) == to)
      return x;
    return ReshapeOp::create(builder, loc,
                             cast<RankedTensorType>(x.getType()).clone(to), x);
  };
  Value rows = lookup(whole);
  int64_t extent = axis.getIterations();
  if (dim != 0) { // move the positions to the front
    SmallVector<int64_t> parted(shape), order = {dim};
    parted[dim] = extent;
    parted.insert(parted.begin() + dim + 1, axis.getUnit(whole, dim));
    for (int64_t other = 0, e = parted.size(); other < e; ++other)
      if (other != dim)
        order.push_back(other);
    rows = TransposeOp::create(builder, loc, reshape(rows, parted), order);
  }
  int64_t columns = computeProduct(shape) / extent;
  Value row = EmbeddingOp::create(builder, loc,
                                  reshape(rows, {extent, columns}), position,
                                  /*key=*/Value(), /*tile=*/TileAttr());
  return reshape(row, axis.getPartType(whole, dim, /*count=*/1).getShape());
}

/// Builds an op that mixes positions, with the caches that it needs.
FailureOr<bool> PositionNarrowing::narrowSpecially(Operation &op) {
  auto stepwise = dyn_cast<StepwiseOpInterface>(op);
  if (!stepwise)
    return false;
  SmallVector<int64_t> timeDims;
  for (Value operand : op.getOperands()) {
    AxisDim dim = dimOf(operand);
    bool isTime = dim && axis.getUnit(operand, *dim) == 1;
    timeDims.push_back(isTime ? *dim : -1);
  }
  if (failed(stepwise.checkStepwise(timeDims)))
    return failure();
  SmallVector<Value> before, after, operands;
  for (RankedTensorType type : stepwise.getCacheTypes()) {
    std::string name = "cache" + std::to_string(caches.size() + before.size());
    auto role = RoleAttr::get(builder.getContext(), RoleKind::Cache, name);
    unsigned number = entry.getNumArguments();
    (void)entry.insertArgument(
        number, type,
        builder.getDictionaryAttr(builder.getNamedAttr(kRoleAttr, role)),
        op.getLoc());
    before.push_back(entry.getArgument(number));
  }
  for (Value operand : op.getOperands())
    operands.push_back(lookup(operand));
  SmallVector<Value> results =
      stepwise.buildStep(builder, operands, before, position, after);
  caches.append(after);
  for (auto [old, made, dim] :
       llvm::zip(op.getResults(), results, stepwise.getResultTimeDims())) {
    if (!made && !old.use_empty())
      return refuse(old.getUsers().begin().operator*())
                 << "it reads a value that is not known for one position alone",
             failure();
    if (made)
      set(old, made, dim);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns the scores as [classes], in the type of statistics.
Value finishLogits(OpBuilder &builder, Value scores) {
  Location loc = scores.getLoc();
  auto type = cast<RankedTensorType>(scores.getType());
  Value flat = ReshapeOp::create(
      builder, loc, type.clone(type.getShape().take_back(1)), scores);
  Type element = getStatisticsType(type.getElementType());
  if (element == type.getElementType())
    return flat;
  return CastOp::create(
      builder, loc,
      RankedTensorType::get(type.getShape().take_back(1), element), flat);
}

/// Replaces a function's body part by part.
class GeneratorBuilder {
public:
  explicit GeneratorBuilder(func::FuncOp entry)
      : entry(entry), builder(entry) {}

  LogicalResult run();

private:
  func::FuncOp createEntry(ArrayRef<Type> arguments, Location loc);
  FailureOr<LogitsSource> narrowToRow(const LogitsSource &source);
  LogicalResult narrowToPosition(const LogitsSource &source);
  void finish(func::FuncOp made, Value logits, ArrayRef<Value> caches,
              int64_t context);

  func::FuncOp entry;
  OpBuilder builder;
};

func::FuncOp GeneratorBuilder::createEntry(ArrayRef<Type> arguments,
                                           Location loc) {
  builder.setInsertionPoint(entry);
  auto made = func::FuncOp::create(builder, entry.getLoc(), entry.getSymName(),
                                   builder.getFunctionType(arguments, {}));
  Block *body = made.addEntryBlock();
  for (BlockArgument argument : body->getArguments())
    argument.setLoc(loc);
  builder.setInsertionPointToEnd(body);
  return made;
}

FailureOr<LogitsSource>
GeneratorBuilder::narrowToRow(const LogitsSource &source) {
  auto type = cast<RankedTensorType>(source.tokens.getType());
  int64_t rows = type.getDimSize(0);
  func::FuncOp made =
      createEntry(type.clone({1, type.getDimSize(1)}), source.tokens.getLoc());
  RowNarrowing narrowing(builder, rows);
  // With one row there is nothing to narrow: every value is whole.
  narrowing.set(source.tokens, made.getArgument(0), rows == 1 ? AxisDim() : 0);
  LogitsSource result;
  for (Operation *op : source.ops)
    if (failed(narrowing.narrow(*op)))
      return made.erase(), failure();
  result.logits = narrowing.lookup(source.logits);
  result.tokens = made.getArgument(0);
  for (Operation &op : made.getBody().front())
    result.ops.insert(&op);
  return result;
}

LogicalResult GeneratorBuilder::narrowToPosition(const LogitsSource &source) {
  auto type = cast<RankedTensorType>(source.tokens.getType());
  auto position = RankedTensorType::get({1}, builder.getI64Type());
  int64_t context = type.getDimSize(1);
  func::FuncOp made =
      createEntry({type.clone({1, 1}), position}, source.tokens.getLoc());
  Value at = made.getArgument(1);
  PositionNarrowing narrowing(builder, context, made, at);
  narrowing.set(source.tokens, made.getArgument(0),
                context == 1 ? AxisDim() : 1);
  for (Operation *op : source.ops)
    if (failed(narrowing.narrow(*op)))
      return made.erase(), failure();
  AxisDim dim = narrowing.dimOf(source.logits);
  ArrayRef<int64_t> shape = getShape(source.logits);
  bool isForEach = context == 1 ||
                   (dim && shape[*dim] == context && *dim != shape.size() - 1);
  Value logits = narrowing.lookup(source.logits);
  int64_t classes = shape.back();
  if (!isForEach || computeProduct(getShape(logits)) != classes)
    return emitError(source.logits.getLoc())
               << "the model can't generate: it does not have one row of "
                  "scores for "
                  "each token",
           made.erase(), failure();
  finish(made, finishLogits(builder, logits), narrowing.caches, context);
  return success();
}

void GeneratorBuilder::finish(func::FuncOp made, Value logits,
                              ArrayRef<Value> caches, int64_t context) {
  MLIRContext *ctx = builder.getContext();
  SmallVector<Value> results = {logits};
  results.append(caches.begin(), caches.end());
  func::ReturnOp::create(builder, logits.getLoc(), results);
  made.setFunctionType(builder.getFunctionType(
      made.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  auto describe = [&](unsigned i, StringRef name, int64_t range) {
    made.setArgAttr(i, kRoleAttr, RoleAttr::get(ctx, RoleKind::Input, name));
    made.setArgAttr(i, kRangeAttr, builder.getI64IntegerAttr(range));
  };
  describe(0, kTokenInput, getShape(logits).back());
  describe(1, kPositionInput, context);
  made.setResultAttr(0, kRoleAttr,
                     RoleAttr::get(ctx, RoleKind::Output, "logits"));
  for (unsigned i = 0, e = caches.size(); i < e; ++i)
    made.setResultAttr(i + 1, kRoleAttr, made.getArgAttr(i + 2, kRoleAttr));
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(made.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult GeneratorBuilder::run() {
  // With one place, marks have no effect.
  if (failed(dissolveMarks(entry, std::numeric_limits<int64_t>::max())))
    return failure();
  FailureOr<ScoreOpInterface> score = findScores(entry);
  if (failed(score))
    return failure();
  FailureOr<LogitsSource> source = findSource(entry, *score);
  if (failed(source) || failed(checkTokens(*source, *score)))
    return failure();
  FailureOr<LogitsSource> row = narrowToRow(*source);
  if (failed(row))
    return failure();
  Operation *rowEntry = row->tokens.getOwner()->getParentOp();
  LogicalResult result = narrowToPosition(*row);
  rowEntry->erase();
  if (succeeded(result))
    entry.erase();
  return result;
}

struct MakeGenerator : pp::impl::MakeGeneratorBase<MakeGenerator> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    if (auto where = (*entry)->getAttrOfType<StringAttr>(kFixedBatchAttr)) {
      entry->emitError("computes with the number of its rows at ")
          << where.getValue() << ", and text is generated for one row";
      return signalPassFailure();
    }
    GeneratorBuilder generator(*entry);
    if (failed(generator.run()))
      return signalPassFailure();
    plan->setBatch(1);
  }
};

} // namespace
