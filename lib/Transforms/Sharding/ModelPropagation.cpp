//===- ModelPropagation.cpp - How axes of the model cut -------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Choosing loops
//===----------------------------------------------------------------------===//

/// Returns how all readers of the op's only result want it cut over an axis
/// over which rows meet, if they all want the same.
std::optional<std::pair<unsigned, Cut>>
ShardingPropagation::findDemand(const OpState &state, unsigned axis) const {
  if (!contains(met, axis) || state.op->getNumResults() != 1 ||
      isa<CopyOp>(*state.op))
    return std::nullopt;
  return demands.lookup(state.op->getResult(0)).findCut(axis);
}

/// Returns the bytes that are sent if an op cuts a loop over an axis, or none.
/// An annotated parameter is never gathered.
double ShardingPropagation::countBytes(const OpState &state, unsigned axis,
                                       std::optional<LoopCut> cut) const {
  double bytes = 0, parts = static_cast<double>(axes[axis].parts);
  SmallVector<Cuts> loops(state.space.loops.size());
  if (cut)
    loops[cut->loop].push_back({axis, cut->period});
  for (auto [operand, tensor, read] :
       llvm::zip(state.op->getOperands(), state.space.operands, state.reads)) {
    auto before = read.findCut(axis);
    auto after = projectToTensor(state.space, tensor, loops).findCut(axis);
    if (!before || before == after)
      continue;
    if (auto param = operand.getDefiningOp<ParamOp>())
      if (annotated.contains(param.getParamNameAttr()))
        return std::numeric_limits<double>::infinity();
    auto size = static_cast<double>(getBytes(operand));
    bytes += (parts - 1) / parts * (after ? size / parts : size);
  }
  if (!cut)
    return bytes;
  auto demand = findDemand(state, axis);
  for (auto [result, tensor] :
       llvm::zip(state.op->getResults(), state.space.results)) {
    double share = (parts - 1) / parts * static_cast<double>(getBytes(result));
    if (!runsOver(tensor, cut->loop))
      bytes += 2 * share;
    else if (demand &&
             projectToTensor(state.space, tensor, loops).findCut(axis) !=
                 demand)
      bytes += share / parts;
  }
  return bytes;
}

/// Returns the loop that an axis of the model, or one over which rows meet,
/// cuts: what an operand is cut along, or what all readers of the result want.
/// Where several are possible, the one with the fewest bytes.
FailureOr<std::optional<LoopCut>>
ShardingPropagation::chooseCheapest(OpState &state, unsigned axis) {
  if (state.op->getNumResults() == 1 &&
      contains(wholeViews.lookup(state.op->getResult(0)), axis))
    return std::optional<LoopCut>();
  SmallVector<LoopCut> choices;
  bool isConflict = false;
  auto isSame = [](LoopCut a, LoopCut b) {
    return a.loop == b.loop && a.period == b.period;
  };
  auto propose = [&](const TensorLoops &tensor, const Sharding &sharding) {
    auto cut = sharding.findCut(axis);
    if (!cut)
      return;
    std::optional<LoopCut> loop = projectToLoop(
        state.space, tensor[cut->first], axes[axis].parts, cut->second.period);
    if (loop && canCut(state, axis, *loop)) {
      if (!llvm::any_of(choices,
                        [&](LoopCut other) { return isSame(other, *loop); }))
        choices.push_back(*loop);
      return;
    }
    isConflict = true;
    auto composite = dyn_cast<DecomposableOpInterface>(*state.op);
    if (loop && state.space.loops[loop->loop].kind == LoopKind::Replicate &&
        composite && composite.getDecomposeAt() != DecomposeAt::Never)
      composites.insert(composite);
  };
  for (auto [tensor, read] : llvm::zip(state.space.operands, state.reads))
    propose(tensor, read);
  // A copy between places sends what the stage has made.
  if (choices.empty() && !isConflict && state.op->getNumResults() == 1 &&
      !isTable(state.op) && !isa<CopyOp>(*state.op))
    if (auto found = demands.find(state.op->getResult(0));
        found != demands.end()) {
      propose(state.space.results[0], found->second);
      isConflict = false;
    }
  if (choices.empty())
    return std::optional<LoopCut>();
  auto demand = findDemand(state, axis);
  if (demand) {
    auto &[dim, cut] = *demand;
    std::optional<LoopCut> loop = projectToLoop(
        state.space, state.space.results[0][dim], axes[axis].parts, cut.period);
    if (loop && canCut(state, axis, *loop) && !isSame(choices.front(), *loop)) {
      choices.push_back(*loop);
      isConflict = true;
    }
  }
  // Few rows that are looked up may be less than a part of their table.
  bool isLookup =
      contains(met, axis) &&
      state.space.loops[choices.front().loop].kind == LoopKind::Lookup;
  if (choices.size() == 1 && !isConflict && !isLookup)
    return std::optional(choices.front());
  std::optional<LoopCut> best;
  double fewest = countBytes(state, axis, std::nullopt);
  for (LoopCut choice : choices)
    if (double bytes = countBytes(state, axis, choice);
        bytes < fewest || (bytes == fewest && !best)) {
      fewest = bytes;
      best = choice;
    }
  if (fewest < std::numeric_limits<double>::infinity())
    return best;
  InFlightDiagnostic diag =
      state.op->emitOpError("has operands that are cut over ");
  diag << axes[axis].name.getValue()
       << " along different dimensions of it; annotate them alike, or leave "
          "one annotation out";
  for (Value operand : state.op->getOperands())
    if (auto param = operand.getDefiningOp<ParamOp>())
      if (annotated.contains(param.getParamNameAttr()))
        diag.attachNote(param.getLoc()) << "this parameter is annotated";
  return diag;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// A parameter that is not annotated, or what is computed of such alone, is cut
/// as a reader wants it, from the next sweep on.
void ShardingPropagation::adopt(Value value, unsigned axis, unsigned dim,
                                int64_t period) {
  bool isNew =
      adopted.insert({value.getAsOpaquePointer(), axis, dim, period}).second;
  if (!isNew || (of(value).getAxes() & onlyAxis(axis)))
    return;
  if (auto param = value.getDefiningOp<ParamOp>()) {
    StringAttr name = param.getParamNameAttr();
    if (annotated.contains(name))
      return;
    Sharding &sharding =
        params.try_emplace(name, Sharding(getShape(value).size()))
            .first->second;
    if (!(sharding.getCutAxes() & onlyAxis(axis)) &&
        addCut(sharding.dims[dim], {axis, period}, getShape(value)[dim], axes))
      changed = true;
    return;
  }
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1)
    return;
  IterationSpace space = op.getIterationSpace();
  std::optional<LoopCut> cut =
      projectToLoop(space, space.results[0][dim], axes[axis].parts, period);
  if (!cut || (space.loops[cut->loop].kind != LoopKind::Parallel &&
               space.loops[cut->loop].kind != LoopKind::Permute))
    return;
  SmallVector<Cuts> loops(space.loops.size());
  loops[cut->loop].push_back({axis, cut->period});
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), space.operands))
    if (auto found = projectToTensor(space, tensor, loops).findCut(axis))
      adopt(operand, axis, found->first, found->second.period);
}

/// A partial result over an axis of the model passes through an op that is
/// linear in it and whose results on a rank are no larger, if no other op reads
/// it; all else reads it complete. So do matmuls: a weight's gradient is then
/// complete too.
void ShardingPropagation::admitPartials(OpState &state) {
  auto countLocalBytes = [&](Value value, const TensorLoops &tensor) {
    AxisSet cut =
        projectToTensor(state.space, tensor, state.loops).getCutAxes();
    return getBytes(value) / axes.countParts(cut);
  };
  int64_t resultBytes = 0;
  for (auto [result, tensor] :
       llvm::zip(state.op->getResults(), state.space.results))
    resultBytes += countLocalBytes(result, tensor);
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    SmallVector<unsigned> partial = findPartialSums(state.reads, axis);
    if (partial.empty() || contains(batchAxes, axis))
      continue;
    int64_t bytes = 0;
    bool isOnlyReader = true;
    for (unsigned i : partial) {
      Value operand = state.op->getOperand(i);
      bytes += countLocalBytes(operand, state.space.operands[i]);
      isOnlyReader &= llvm::all_of(operand.getUsers(), [&](Operation *user) {
        return user == state.op;
      });
    }
    if (isOnlyReader && !contains(state.cut, axis) && !isMatmul(state.op) &&
        state.op.isLinearIn(partial) && resultBytes <= bytes)
      continue;
    for (Sharding &read : state.reads)
      read.sums &= ~onlyAxis(axis);
  }
}

//===----------------------------------------------------------------------===//
// Between sweeps
//===----------------------------------------------------------------------===//

/// Where all readers of a value read a part of it over an axis over which it is
/// whole, its op computes that part alone, from the next sweep on. Where one
/// reader reads a partial sum complete, all do: it is completed once. So it is
/// where one reader reads a part of a sum over ranks: it is scattered once.
void ShardingPropagation::collectDemands() {
  DenseMap<Value, SmallVector<const Sharding *>> readsOf;
  entry.walk([&](Operation *op) {
    auto found = table.ops.find(op);
    if (found == table.ops.end())
      return;
    for (auto [operand, read] :
         llvm::zip(op->getOperands(), found->second.reads))
      readsOf[operand].push_back(&read);
  });
  entry.walk([&](IterationSpaceOpInterface op) {
    if (isa<ParamOp>(*op) || op->getNumResults() != 1)
      return;
    Value value = op->getResult(0);
    auto found = readsOf.find(value);
    if (found == readsOf.end())
      return;
    const Sharding &sharding = of(value), &first = *found->second.front();
    AxisSet complete = 0, sums = sharding.sums & met;
    AxisSet gathered = sharding.getCutAxes() & met;
    for (const Sharding *read : found->second) {
      gathered &= ~read->getAxes();
      AxisSet ended = sharding.sums & ~read->sums;
      complete |= ended & ~batchAxes;
      if (!fromInputs.contains(value))
        complete |= ended & sums & ~read->getCutAxes();
      AxisSet cut = sums & read->getCutAxes();
      if (cut && scattered.try_emplace(value, read->onlyCuts(cut)).second)
        changed = true;
    }
    // A composite that is still to be decomposed reads more than it needs.
    if (!isa<TransposeOp, ReshapeOp>(*op) || !composites.empty())
      gathered = 0;
    if (AxisSet &known = wholeViews[value]; gathered & ~known) {
      known |= gathered;
      changed = true;
    }
    if (AxisSet &known = completed[value]; complete & ~known) {
      known |= complete;
      changed = true;
    }
    AxisSet wanted = first.getCutAxes() & ~getApart() & ~sharding.getAxes();
    for (unsigned axis = 0; axis < axes.size(); ++axis)
      if (contains(met & first.getCutAxes() & sharding.getCutAxes(), axis) &&
          first.findCut(axis) != sharding.findCut(axis))
        wanted |= onlyAxis(axis);
    for (const Sharding *read : found->second)
      if (read->onlyCuts(wanted) != first.onlyCuts(wanted))
        return;
    if (!wanted || demands.contains(value))
      return;
    demands[value] = first.onlyCuts(wanted);
    changed = true;
  });
}

/// Some ops may add parts of a parameter's gradient over an axis, and others
/// the whole: these then add shares.
void ShardingPropagation::shareGradients() {
  DenseMap<StringAttr, AxisSet> sums;
  auto nameOf = [](AddGradOp add) {
    return add.getParam().getDefiningOp<ParamOp>().getParamNameAttr();
  };
  entry.walk([&](AddGradOp add) {
    sums[nameOf(add)] |= table.ops[add].reads[1].sums;
  });
  entry.walk(
      [&](AddGradOp add) { table.ops[add].reads[1].sums = sums[nameOf(add)]; });
}
