//===- InsertPlan.cpp - Writes the plan's options into the module ---------===//
//
// Before: a model. After: the same with a pp.plan, which all later passes read
// instead of options.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/InMicrobatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "mlir/IR/Verifier.h"

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTPLAN
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

struct InsertPlan : pp::impl::InsertPlanBase<InsertPlan> {
  using InsertPlanBase::InsertPlanBase;
  InsertPlan() = default;
  InsertPlan(const InsertPlan &other)
      : InsertPlanBase(other), table(other.table) {}
  InsertPlan(InsertPlanOptions options, const PlanChoices &choices,
             const std::optional<ppopt::schedule::Table> &table)
      : InsertPlanBase(std::move(options)), table(table) {
#define PLAN_CHOICE(FIELD, ...) FIELD = schema::spell(choices.FIELD);
#define PLAN_SWITCH(FIELD, ...) FIELD = choices.FIELD;
#define PLAN_LEVEL(FIELD, ...) FIELD = choices.FIELD;
#define PLAN_NUMBER(FIELD, ...) FIELD = choices.FIELD;
#define PLAN_BYTES(FIELD, ...) FIELD = choices.FIELD;
#include "schema/plan_options.def"
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry = findEntry(module);
    if (failed(entry))
      return signalPassFailure();
    if (!module.getOps<PlanOp>().empty()) {
      module.emitError("has a pp.plan already");
      return signalPassFailure();
    }
    RankedTensorType input = findBatchInput(*entry);
    if (!input)
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    FailureOr<PlanChoices> choices = parseChoices(entry->getLoc());
    if (failed(choices))
      return signalPassFailure();
    FailureOr<ArrayAttr> axes = parseMesh(builder, entry->getLoc());
    if (failed(axes))
      return signalPassFailure();
    int64_t trainers = 1;
    if (choices->sync != Sync::step)
      trainers = takeTrainers(*axes);
    auto plan = PlanOp::create(
        builder, entry->getLoc(), *axes, input.getDimSize(0), microbatches,
        schedule,
        TargetAttr::get(&getContext(), target, threads, cpu, features, gpu),
        table ? TableAttr::get(&getContext(), *table) : TableAttr(),
        stagePlaces.empty() ? DenseI64ArrayAttr()
                            : builder.getDenseI64ArrayAttr(stagePlaces),
        deviceMemory ? builder.getI64IntegerAttr(deviceMemory) : IntegerAttr(),
        trainers, /*evaluates_rows=*/false,
        /*mixes_rows=*/StringAttr(),
        /*by_microbatch=*/microbatches > 1 && hasMicrobatchOps(*entry));
    plan.setChoices(*choices);
    if (failed(verify(plan))) // whether the batch can be divided
      return signalPassFailure();
    dropCheckpoints(module, /*keeps=*/choices->recompute == Recompute::layer);
  }

private:
  std::optional<ppopt::schedule::Table> table;

  /// Returns whether the model computes with the rows of one microbatch.
  /// Predictions are made row by row.
  static bool hasMicrobatchOps(func::FuncOp entry) {
    WalkResult result = entry.walk([](Operation *op) {
      return WalkResult(failure(op->hasAttr(kInMicrobatchAttr)));
    });
    return !hasOutputs(entry) && result.wasInterrupted();
  }

  /// Returns the size of the batch's axis, which becomes 1.
  static int64_t takeTrainers(ArrayAttr &axes) {
    int64_t trainers = 1;
    SmallVector<Attribute> rest;
    for (auto axis : axes.getAsRange<MeshAxisAttr>()) {
      bool isBatch = axis.getName() == StringRef(geometry::batchAxis);
      if (isBatch)
        trainers = axis.getSize();
      rest.push_back(
          isBatch ? MeshAxisAttr::get(axis.getContext(), axis.getName(), 1)
                  : axis);
    }
    axes = ArrayAttr::get(axes.getContext(), rest);
    return trainers;
  }

  /// Removes the checkpoints that the plan does not use. What the model is
  /// given is there for the backward without one.
  static void dropCheckpoints(ModuleOp module, bool keeps) {
    module.walk([&](CheckpointOp mark) {
      Operation *op = mark.getX().getDefiningOp();
      if (keeps && op && !isa<ParamOp>(op))
        return;
      mark.replaceAllUsesWith(mark.getX());
      mark.erase();
    });
  }

  /// Reads the options of plan_options.def.
  FailureOr<PlanChoices> parseChoices(Location loc) {
    PlanChoices choices;
    auto parse = [&](auto &choice, StringRef flag, StringRef word) {
      using E = std::decay_t<decltype(choice)>;
      std::optional<E> parsed = parseChoice<E>(word);
      if (!parsed)
        return LogicalResult(emitError(loc)
                             << flag << " is '" << word << "', not one of "
                             << schema::listWords<E>());
      choice = *parsed;
      return success();
    };
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, ...)                    \
  if (failed(parse(choices.FIELD, FLAG, FIELD)))                               \
    return failure();
#define PLAN_SWITCH(FIELD, ...) choices.FIELD = FIELD;
#define PLAN_LEVEL(FIELD, ...) choices.FIELD = FIELD;
#define PLAN_NUMBER(FIELD, ...) choices.FIELD = FIELD;
#define PLAN_BYTES(FIELD, ...) choices.FIELD = FIELD;
#include "schema/plan_options.def"
    return choices;
  }

#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, LATER, PLACEHOLDER,     \
                    FALLBACK, HELP, MEANING)                                   \
  Option<std::string> FIELD{*this, FLAG, llvm::cl::desc(HELP),                 \
                            llvm::cl::init(schema::spell(TYPE::DEFAULT))};
#define PLAN_SWITCH(FIELD, NAME, FLAG, HELP, MEANING)                          \
  Option<bool> FIELD{*this, FLAG, llvm::cl::desc(HELP), llvm::cl::init(false)};
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, PLACEHOLDER, HELP,        \
                   MEANING)                                                    \
  Option<int64_t> FIELD{*this, FLAG, llvm::cl::desc(HELP), llvm::cl::init(0)};
#define PLAN_NUMBER(FIELD, NAME, FLAG, WORD, MEANING)                          \
  Option<int64_t> FIELD{*this, #FIELD, llvm::cl::desc(MEANING),                \
                        llvm::cl::init(0)};
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, FALLBACK, HELP, MEANING)   \
  Option<int64_t> FIELD{*this, FLAG, llvm::cl::desc(HELP),                     \
                        llvm::cl::init(DEFAULT)};
#include "schema/plan_options.def"

  /// Parses "dp=2,pp=4"; adds the axis of the batch, of size 1, if there is
  /// none.
  FailureOr<ArrayAttr> parseMesh(Builder &builder, Location loc) {
    SmallVector<Attribute> axes;
    bool hasBatchAxis = false;
    SmallVector<StringRef> parts;
    StringRef(mesh).split(parts, ',', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts) {
      auto [name, sizeText] = part.split('=');
      int64_t size = 0;
      if (name.empty() || sizeText.getAsInteger(10, size))
        return emitError(loc, "mesh '")
                   << mesh << "' is not a list like dp=2,pp=4",
               failure();
      hasBatchAxis |= name == StringRef(geometry::batchAxis);
      axes.push_back(MeshAxisAttr::get(builder.getContext(), name, size));
    }
    if (!hasBatchAxis)
      axes.insert(axes.begin(), MeshAxisAttr::get(builder.getContext(),
                                                  geometry::batchAxis, 1));
    return builder.getArrayAttr(axes);
  }
};

} // namespace

std::unique_ptr<Pass>
pp::createInsertPlan(InsertPlanOptions options, const PlanChoices &choices,
                     const std::optional<ppopt::schedule::Table> &table) {
  return std::make_unique<InsertPlan>(std::move(options), choices, table);
}
