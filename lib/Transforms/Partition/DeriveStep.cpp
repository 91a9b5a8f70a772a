//===- DeriveStep.cpp - Writes a step as a graph of values ----------------===//
//
// Before: tasks and transfers that name values. After: also a pp.step, in which
// calls of the tasks hand these values on.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_DERIVESTEP
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

using Tasks = SmallVector<TaskOp>;

/// The tasks of a step, in program order: the stages up for forwards, down for
/// backwards. The parts of a split backward are in the order in which they are
/// made.
struct StepTasks {
  explicit StepTasks(ModuleOp module);

  Tasks prologues, forwards, losses, backwards, ends;
};

StepTasks::StepTasks(ModuleOp module) {
  std::map<int64_t, Tasks> forward, loss; // by stage
  std::map<int64_t, Tasks, std::greater<int64_t>> backward;
  Tasks collects, norms, decides, updates;
  auto listOf = [&](TaskOp task) -> Tasks & {
    switch (task.getKind()) {
    case TaskKind::Prologue:
      return prologues;
    case TaskKind::Forward:
      return forward[task.getStage()];
    case TaskKind::Loss:
      return loss[task.getStage()];
    case TaskKind::Backward:
    case TaskKind::BackwardInput:
    case TaskKind::BackwardWeight:
      return backward[task.getStage()];
    case TaskKind::Collect:
      return collects;
    case TaskKind::Norm:
      return norms;
    case TaskKind::Decide:
      return decides;
    case TaskKind::Update:
      return updates;
    }
    llvm_unreachable("all kinds are listed");
  };
  for (auto task : module.getOps<TaskOp>())
    listOf(task).push_back(task);
  for (auto &[stage, tasks] : forward)
    llvm::append_range(forwards, tasks);
  for (auto &[stage, tasks] : loss)
    llvm::append_range(losses, tasks);
  for (auto &[stage, tasks] : backward)
    llvm::append_range(backwards, tasks);
  for (Tasks *kind : {&collects, &norms, &decides, &updates})
    llvm::append_range(ends, *kind);
}

/// Builds the regions of a step.
class StepBuilder {
public:
  StepBuilder(ModuleOp module, Location loc);

  LogicalResult build();

private:
  void start(Region &region);
  LogicalResult call(ArrayRef<TaskOp> tasks);
  LogicalResult call(TaskOp task);
  void lend(bool isGradient);
  void copy(TransferOp transfer, Value value);
  int64_t getId(TransferOp transfer) const {
    return ids.lookup(transfer.getSymName());
  }
  IntegerAttr getGradientOf(TransferOp transfer);
  void receive(TransferOp transfer, Value value);

  OpBuilder builder;
  StepOp step;
  StepTasks tasks;
  SmallVector<TransferOp> transfers;
  /// The ids of the copies, by name of the transfer.
  llvm::StringMap<int64_t> ids;
  /// The values of a region by role, and the transfers that its calls read.
  DenseMap<Attribute, Value> values;
  llvm::StringSet<> received;
};

} // namespace

StepBuilder::StepBuilder(ModuleOp module, Location loc)
    : builder(OpBuilder::atBlockEnd(module.getBody())), tasks(module),
      transfers(module.getOps<TransferOp>()) {
  for (auto [i, transfer] : llvm::enumerate(transfers))
    ids[transfer.getSymName()] = i;
  step = StepOp::create(builder, loc);
}

/// Begins a region, whose values are its own.
void StepBuilder::start(Region &region) {
  builder.createBlock(&region);
  values.clear();
  received.clear();
}

/// Returns the id of the copy whose gradient a transfer brings; null if none.
IntegerAttr StepBuilder::getGradientOf(TransferOp transfer) {
  std::optional<StringRef> of = transfer.getGradientOf();
  return of ? builder.getI64IntegerAttr(ids.lookup(*of)) : IntegerAttr();
}

void StepBuilder::receive(TransferOp transfer, Value value) {
  values[RoleAttr::get(builder.getContext(), RoleKind::Received,
                       transfer.getSymName())] = value;
}

void StepBuilder::copy(TransferOp transfer, Value value) {
  receive(transfer, CopyOp::create(builder, transfer.getLoc(), value,
                                   transfer.getFrom(), transfer.getTo(),
                                   getId(transfer), getGradientOf(transfer)));
}

/// Calls a task, and copies what it makes to the places that read it.
LogicalResult StepBuilder::call(TaskOp task) {
  SmallVector<Value> operands;
  for (unsigned number : task.getValueArguments()) {
    operands.push_back(values.lookup(task.getArgRole(number)));
    if (!operands.back())
      return task.emitOpError("takes ")
             << task.getArgRole(number) << ", which nothing before it makes";
  }
  SmallVector<Type> types;
  for (unsigned number : task.getValueResults())
    types.push_back(task.getResultTypes()[number]);
  auto call = CallOp::create(builder, task.getLoc(), types, task.getSymName(),
                             operands);
  llvm::StringMap<Value> made;
  for (auto [number, result] :
       llvm::zip(task.getValueResults(), call.getResults())) {
    RoleAttr role = task.getResultRole(number);
    values[role] = result;
    made[role.getName()] = result;
  }
  for (TransferOp transfer : transfers)
    if (!transfer.getStep() && made.contains(transfer.getValue()) &&
        received.contains(transfer.getSymName()))
      copy(transfer, made.lookup(transfer.getValue()));
  return success();
}

LogicalResult StepBuilder::call(ArrayRef<TaskOp> all) {
  for (TaskOp task : all)
    for (unsigned number : task.getValueArguments())
      if (RoleAttr role = task.getArgRole(number);
          role.getKind() == RoleKind::Received)
        received.insert(role.getName());
  for (TaskOp task : all)
    if (failed(call(task)))
      return failure();
  return success();
}

/// Copies what is transferred once per step: the parameters that places borrow,
/// or the gradients that they give back.
void StepBuilder::lend(bool isGradient) {
  for (TransferOp transfer : transfers) {
    if (!transfer.getStep() ||
        transfer.getGradientOf().has_value() != isGradient)
      continue;
    SmallVector<Type> types;
    if (isGradient)
      types.push_back(transfer.getType());
    auto copied = CopyBucketOp::create(builder, transfer.getLoc(), types,
                                       transfer.getValue(), transfer.getFrom(),
                                       transfer.getTo(), getId(transfer),
                                       getGradientOf(transfer));
    if (isGradient)
      receive(transfer, copied.getGradients());
  }
}

LogicalResult StepBuilder::build() {
  auto join = [](ArrayRef<TaskOp> first, ArrayRef<TaskOp> second) {
    Tasks all(first);
    llvm::append_range(all, second);
    return all;
  };
  if (!tasks.prologues.empty()) {
    start(step.getPrologue());
    if (failed(call(tasks.prologues)))
      return failure();
  }
  if (llvm::any_of(transfers, [](TransferOp each) { return each.getStep(); })) {
    start(step.getBegin());
    lend(/*isGradient=*/false);
  }
  start(step.getMicrobatch());
  if (failed(call(join(tasks.forwards, tasks.backwards))))
    return failure();
  start(step.getEvaluation());
  if (failed(call(join(tasks.forwards, tasks.losses))))
    return failure();
  if (tasks.ends.empty())
    return success();
  start(step.getEnd());
  lend(/*isGradient=*/true);
  return call(tasks.ends);
}

namespace {

struct DeriveStep : pp::impl::DeriveStepBase<DeriveStep> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan) ||
        failed(StepBuilder(getOperation(), plan->getLoc()).build()))
      signalPassFailure();
  }
};

} // namespace
