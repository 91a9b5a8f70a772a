//===- SplitTasks.cpp - Cuts the entry into isolated tasks ----------------===//
//
// Before: the entry on local shapes: a forward and, where something learns, a
// backward region of each stage, copies between them. After: declarations of
// the parameters; of each stage the tasks sS_F and sS_B (or sS_I and sS_W where
// the schedule splits the backward), and pP_P where place P sums inputs over
// the batch, whose signatures name all that they need; a pp.transfer for each
// copy.
//
//===----------------------------------------------------------------------===//

#include "EntryParts.h"
#include "SavedValues.h"
#include "SavedViews.h"
#include "WeightPart.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"
#include "ppopt/Transforms/PlanSchedule.h"
#include "ppopt/Transforms/Recompute.h"
#include "ppopt/Transforms/TaskBuilder.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITTASKS
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Builds the tasks of all stages from their regions.
class TaskSplitter {
public:
  TaskSplitter(EntryParts &parts, PlanOp plan, OpBuilder &builder)
      : parts(parts), splitsBackward(pp::splitsBackward(plan)),
        recompute(getRecompute(plan)), builder(builder) {}

  LogicalResult run();

private:
  void collectMarks();
  void nameBatchSums();
  LogicalResult assignUpdates();
  void findWhatCrosses();
  void findSaved(StageParts &stage);
  void noteRead(StageParts &stage, Value value);
  void nameExports();
  void buildPrologues();
  void buildPrologue(int64_t place, unsigned level);
  void buildForward(StageParts &stage);
  void buildLoss(StageParts &stage);
  void buildBackward(StageParts &stage);
  void buildPart(StageParts &stage, StringRef suffix, TaskKind kind,
                 const llvm::SetVector<Operation *> &ops, ArrayRef<Value> kept,
                 ArrayRef<Value> handedOn);
  void buildTransfers();

  std::optional<RoleAttr> roleOf(Value value);
  RoleAttr role(RoleKind kind, const Twine &name) const {
    return RoleAttr::get(builder.getContext(), kind, name.str());
  }
  RoleAttr lossRole() const { return role(RoleKind::Loss, "loss"); }
  /// Of a value that a block of a stage makes or only passes on.
  RoleAttr savedRole(Value value, Block *block) const {
    return role(RoleKind::Saved, names.lookup({block, value}));
  }
  RoleAttr savedRole(Value value) const {
    return savedRole(value, value.getParentBlock());
  }
  /// Where a task has its values from.
  struct Sources {
    /// What a value is where the task is: through places, perhaps copies.
    std::function<Value(Value)> resolve;
    /// Whether the task computes an op's result itself; else it is saved.
    std::function<bool(Value)> isComputed;
    /// Told each op that is cloned because something needs its result.
    std::function<void(Operation *)> note = [](Operation *) {};
  };
  Sources forwardSources(StageParts &stage);
  Sources lossSources(StageParts &stage);
  bool makesLoss(StageParts &stage);
  SmallVector<Value> forwardRoots(StageParts &stage);
  SmallVector<Value> backwardRoots(StageParts &stage);
  bool isTaken(const Sources &sources, Value value) {
    return value.getDefiningOp<CopyOp>() || !sources.isComputed(value);
  }
  void findTaken(const Sources &sources, ArrayRef<Value> roots,
                 DenseSet<Value> &computed, llvm::SetVector<Value> &taken);
  Value materialiseSum(TaskBuilder &task, Value sum);
  Value materialise(TaskBuilder &task, const Sources &sources, Value value);
  Block *entryBlock() { return &parts.entry.getBody().front(); }

  EntryParts &parts;
  bool splitsBackward;
  Recompute recompute;
  OpBuilder &builder;
  /// What a checkpoint marks.
  DenseSet<Value> marked;
  /// What is summed over the batch for the prologues, in order; the sums' names
  /// are g0, g1, …. Of each, an op that sums it, the place that does, and how
  /// many other sums must be complete before.
  struct BatchSum {
    BatchSumOp op;
    int64_t place;
    unsigned level;
  };
  llvm::SetVector<Value> summed;
  SmallVector<BatchSum> batchSums;
  /// Of each block of a stage, the values that other tasks read.
  DenseMap<Block *, llvm::SetVector<Value>> exports;
  /// Of those their unique name. Several blocks may pass on one value.
  DenseMap<std::pair<Block *, Value>, std::string> names;
  /// The stages that read what a copy brings.
  DenseMap<Value, SmallVector<int64_t>> readers;
  /// Forward values that a stage's backward takes as arguments.
  DenseMap<int64_t, SmallVector<Value>> saved;
  /// Of a stage's backward region, the values that somebody needs.
  DenseMap<int64_t, DenseSet<Value>> needed;
  /// The parameters to whose gradient a value of a backward is a part.
  DenseMap<Value, SmallVector<StringRef>> gradientOf;
  /// The parts that no op of a backward makes, by the stage that adds them. One
  /// value, as a constant, may be that of several stages.
  struct LooseGradient {
    Value value;
    StringRef param;
  };
  DenseMap<int64_t, SmallVector<LooseGradient>> looseGradients;
};

/// The role of a value that a task takes as an argument wherever it is needed.
std::optional<RoleAttr> TaskSplitter::roleOf(Value value) {
  func::FuncOp entry = parts.entry;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    if (auto known = entry.getArgAttrOfType<RoleAttr>(i, "pp.role"))
      return known;
    return role(RoleKind::Input,
                entry.getArgAttrOfType<StringAttr>(i, kInputAttr).getValue());
  }
  if (auto param = value.getDefiningOp<ParamOp>())
    return role(RoleKind::Param, param.getParamName());
  if (auto sum = value.getDefiningOp<BatchSumOp>()) {
    Value partial = throughCopies(sum.getPartial());
    return role(RoleKind::Global,
                "g" + Twine(llvm::find(summed, partial) - summed.begin()));
  }
  return std::nullopt;
}

/// How many sums over the batch, one inside of the other, `value` is made of.
static unsigned countNestedSums(Value value, DenseMap<Value, unsigned> &known) {
  value = throughCopies(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  unsigned nested = 0;
  for (Value operand : op->getOperands())
    nested = std::max(nested, countNestedSums(operand, known));
  return known[value] = nested + isa<BatchSumOp>(op);
}

/// The sums over the batch without which there were no loss and no update.
static DenseSet<Operation *> findNeededSums(func::FuncOp entry) {
  DenseSet<Operation *> sums;
  DenseSet<Value> seen;
  SmallVector<Value> worklist;
  for (Operation &op : entry.getBody().front())
    if (isa<UpdateOp, func::ReturnOp>(op))
      worklist.append(op.operand_begin(), op.operand_end());
  while (!worklist.empty()) {
    Value value = throughPlace(worklist.pop_back_val());
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (isa<BatchSumOp>(op))
      sums.insert(op);
    worklist.append(op->operand_begin(), op->operand_end());
  }
  return sums;
}

/// The first place that wants a sum computes it for all.
void TaskSplitter::nameBatchSums() {
  func::FuncOp entry = parts.entry;
  DenseSet<Operation *> needed = findNeededSums(entry);
  DenseMap<Value, unsigned> nested;
  entry.walk([&](BatchSumOp op) {
    // A count that nothing reads is checked all the same.
    bool isNeeded = needed.contains(op) || op.getCount();
    if (!isNeeded || !summed.insert(throughCopies(op.getPartial())))
      return;
    StageParts *stage = parts.getStageOf(op->getBlock());
    batchSums.push_back({op, stage ? stage->place : parts.stages.front().place,
                         countNestedSums(op.getPartial(), nested)});
  });
}

/// The stage whose backward yields a part of a gradient, which may be scaled
/// behind it; none for what no backward yields.
static std::optional<int64_t> stageOfGradient(Value part) {
  SmallVector<Value> worklist = {part};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    auto place = dyn_cast_or_null<PlaceOp>(op);
    if (place && place.getBackward())
      return place.getStage();
    if (op)
      worklist.append(op->operand_begin(), op->operand_end());
  }
  return std::nullopt;
}

/// Says which value is a part of which parameters' gradients, and, where it is
/// not made by the backward itself (a value of the forward as it is, or one
/// that was scaled outside of the regions), which stage adds it.
LogicalResult TaskSplitter::assignUpdates() {
  for (UpdateOp update : parts.updates) {
    auto param = update.getParam().getDefiningOp<ParamOp>();
    for (Value part : update.getGradients()) {
      Value gradient = throughPlace(part);
      StageParts *made = gradient.getDefiningOp()
                             ? parts.getStageOf(gradient.getParentBlock())
                             : nullptr;
      if (made && made->backward == gradient.getParentBlock()->getParentOp()) {
        gradientOf[gradient].push_back(param.getParamName());
        continue;
      }
      std::optional<int64_t> stage = stageOfGradient(part);
      if (!stage)
        return update.emitOpError("adds a gradient of '")
               << param.getParamName()
               << "' that no backward region yields: no task would add it";
      looseGradients[*stage].push_back({gradient, param.getParamName()});
    }
  }
  return success();
}

/// From here on a checkpoint is its operand.
void TaskSplitter::collectMarks() {
  parts.entry.walk([&](CheckpointOp mark) {
    marked.insert(throughPlace(mark.getX()));
    mark.replaceAllUsesWith(mark.getX());
    mark.erase();
  });
}

//===----------------------------------------------------------------------===//
// What tasks read of one another
//===----------------------------------------------------------------------===//

TaskSplitter::Sources TaskSplitter::forwardSources(StageParts &stage) {
  Block *block = stage.getForwardBlock();
  return {throughPlace, [this, block](Value value) {
            Block *made = value.getParentBlock();
            return made == block || made == entryBlock();
          }};
}

/// Evaluation's loss is made from what the backward is given: training saves
/// nothing for it.
TaskSplitter::Sources TaskSplitter::lossSources(StageParts &stage) {
  return {throughPlace, [this, &stage](Value value) {
            Block *blocks[] = {stage.getForwardBlock(), entryBlock(),
                               stage.getEvaluationBlock()};
            return !llvm::is_contained(saved[stage.stage], value) &&
                   llvm::is_contained(blocks, value.getParentBlock());
          }};
}

/// Whether the loss is the forward's: it is made there, or no region makes it
/// (a constant one, or one that was scaled outside), and the stage is the last.
bool TaskSplitter::makesLoss(StageParts &stage) {
  if (!parts.loss.getDefiningOp())
    return false;
  Block *block = parts.loss.getParentBlock();
  if (block == stage.getForwardBlock())
    return true;
  return !parts.trainingLoss && !parts.getStageOf(block) &&
         &stage == &parts.stages.back();
}

/// What the forward task is there for.
SmallVector<Value> TaskSplitter::forwardRoots(StageParts &stage) {
  Block *block = stage.getForwardBlock();
  SmallVector<Value> roots(exports[block].getArrayRef());
  if (makesLoss(stage))
    roots.push_back(parts.loss);
  return roots;
}

/// What the backward tasks are there for.
SmallVector<Value> TaskSplitter::backwardRoots(StageParts &stage) {
  Block *block = stage.getBackwardBlock();
  SmallVector<Value> roots(exports[block].getArrayRef());
  for (Operation &op : block->without_terminator())
    for (Value result : op.getResults())
      if (gradientOf.contains(result))
        roots.push_back(result);
  for (const LooseGradient &gradient : looseGradients.lookup(stage.stage))
    roots.push_back(gradient.value);
  if (stage.evaluation)
    roots.push_back(parts.trainingLoss);
  return roots;
}

/// Finds what a task computes to have `roots`, and what it takes of other tasks
/// for that, exactly as `materialise` does.
void TaskSplitter::findTaken(const Sources &sources, ArrayRef<Value> roots,
                             DenseSet<Value> &computed,
                             llvm::SetVector<Value> &taken) {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = sources.resolve(worklist.pop_back_val());
    if (roleOf(value))
      continue;
    if (isTaken(sources, value))
      taken.insert(value);
    else if (computed.insert(value).second)
      worklist.append(value.getDefiningOp()->operand_begin(),
                      value.getDefiningOp()->operand_end());
  }
}

/// What the backward is given of what it reads of other tasks.
void TaskSplitter::findSaved(StageParts &stage) {
  Block *blocks[] = {stage.getBackwardBlock(), entryBlock()};
  Sources sources{throughPlace, [&](Value value) {
                    return llvm::is_contained(blocks, value.getParentBlock());
                  }};
  llvm::SetVector<Value> crossing;
  findTaken(sources, backwardRoots(stage), needed[stage.stage], crossing);
  saved[stage.stage] =
      chooseSaved(crossing, recompute,
                  {parts.entry,
                   {stage.getForwardBlock(), entryBlock()},
                   [&](Value value) { return roleOf(value).has_value(); },
                   marked});
}

/// A task of `stage` takes `value`: somebody has to hand it on. What a copy
/// brings is exported by the region that yields it, even if that only passes it
/// on.
void TaskSplitter::noteRead(StageParts &stage, Value value) {
  auto copy = value.getDefiningOp<CopyOp>();
  if (!copy) {
    exports[value.getParentBlock()].insert(value);
    return;
  }
  readers[copy].push_back(stage.stage);
  auto place = copy.getX().getDefiningOp<PlaceOp>();
  Value sent = throughPlace(copy.getX());
  bool isMade = sent.getDefiningOp() && parts.getStageOf(sent.getParentBlock());
  exports[isMade ? sent.getParentBlock() : &place.getBody().front()].insert(
      sent);
}

/// From the last task of a step to the first, so that all that a task has to
/// hand on is known before what it takes for that.
void TaskSplitter::findWhatCrosses() {
  for (StageParts &stage : parts.stages)
    if (stage.backward) {
      findSaved(stage);
      for (Value value : saved[stage.stage])
        if (value.getParentBlock() != stage.getBackwardBlock())
          noteRead(stage, value);
    }
  auto noteReads = [&](StageParts &stage, const Sources &sources,
                       ArrayRef<Value> roots) {
    DenseSet<Value> computed;
    llvm::SetVector<Value> taken;
    findTaken(sources, roots, computed, taken);
    for (Value value : taken)
      noteRead(stage, value);
  };
  for (StageParts &stage : parts.stages)
    if (stage.evaluation)
      noteReads(stage, lossSources(stage), {parts.loss});
  for (StageParts &stage : llvm::reverse(parts.stages))
    noteReads(stage, forwardSources(stage), forwardRoots(stage));
}

void TaskSplitter::nameExports() {
  for (StageParts &stage : parts.stages)
    for (PlaceOp place : {stage.forward, stage.backward}) {
      if (!place)
        continue;
      llvm::SetVector<Value> &values = exports[&place.getBody().front()];
      sortByPosition(parts.entry, values);
      for (auto [i, value] : llvm::enumerate(values))
        names[{&place.getBody().front(), value}] =
            ("s" + Twine(stage.stage) +
             (place == stage.backward ? ".g" : ".v") + Twine(i))
                .str();
    }
}

/// A complete sum over the batch, in the type of what was summed.
Value TaskSplitter::materialiseSum(TaskBuilder &task, Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  Type wide = type.clone(getStatisticsType(type.getElementType()));
  Value taken = task.getArgument(*roleOf(sum), wide, sum.getLoc());
  if (wide != type)
    taken = CastOp::create(task.getBuilder(), sum.getLoc(), type, taken);
  task.map(sum, taken);
  return taken;
}

/// The value in the task: an argument, a clone made before, or a clone made now
/// of the op and what it needs.
Value TaskSplitter::materialise(TaskBuilder &task, const Sources &sources,
                                Value outer) {
  Value value = sources.resolve(outer);
  if (Value known = task.lookup(value))
    return known;
  // Several values may be one, as sums of the same over the batch are.
  auto argument = [&](RoleAttr role) {
    Value taken = task.getArgument(role, value.getType(), value.getLoc());
    task.map(value, taken);
    return taken;
  };
  if (value.getDefiningOp<BatchSumOp>())
    return materialiseSum(task, value);
  if (std::optional<RoleAttr> found = roleOf(value))
    return argument(*found);
  if (isTaken(sources, value)) {
    auto copy = value.getDefiningOp<CopyOp>();
    return argument(copy ? role(RoleKind::Received, "x" + Twine(copy.getId()))
                         : savedRole(value));
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialise(task, sources, operand);
  task.clone(op, sources.resolve);
  sources.note(op);
  return task.lookup(value);
}

/// What a message says of a batch in which the count is zero.
static StringAttr describeCount(BatchSumOp sum) {
  Builder builder(sum.getContext());
  auto count = throughCopies(sum.getPartial()).getDefiningOp<CountOp>();
  if (!count)
    return builder.getStringAttr("targets");
  return builder.getStringAttr("targets, ignore_index " +
                               Twine(count.getIgnoreIndex()));
}

/// Sums of inputs: what they are made of is computed here, whichever stage it
/// belongs to. One of what other sums are needed for has a prologue behind
/// theirs.
void TaskSplitter::buildPrologue(int64_t place, unsigned level) {
  auto isHere = [&](const BatchSum &sum) {
    return sum.place == place && sum.level == level;
  };
  if (llvm::none_of(batchSums, isHere))
    return;
  std::string name = ("p" + Twine(place) + "_P").str();
  if (level > 0)
    name += std::to_string(level);
  TaskBuilder task(builder, name, TaskKind::Prologue, TaskOp::kNoStage, place,
                   parts.entry->getLoc());
  Sources sources{throughCopies, [](Value) { return true; }};
  SmallVector<StringAttr> counts; ///< null: a sum of something else
  for (const BatchSum &sum : batchSums) {
    if (!isHere(sum))
      continue;
    BatchSumOp op = sum.op;
    task.accumulate(*roleOf(op.getResult()),
                    materialise(task, sources, op.getPartial()));
    counts.push_back(op.getCount() ? describeCount(op) : StringAttr());
  }
  TaskOp made = task.finish();
  // The schedule's check of counts needs to know which sums count targets. The
  // task's checks of ids come after them.
  for (auto [i, count] : llvm::enumerate(counts))
    if (count)
      made.setArgAttr(*made.getTiedArgument(i), kCountAttr, count);
}

/// Level by level: collectives are started in the order of the tasks.
void TaskSplitter::buildPrologues() {
  llvm::SetVector<int64_t> places;
  for (StageParts &stage : parts.stages)
    places.insert(stage.place);
  unsigned levels = 0;
  for (const BatchSum &sum : batchSums)
    levels = std::max(levels, sum.level + 1);
  for (unsigned level = 0; level < levels; ++level)
    for (int64_t place : places)
      buildPrologue(place, level);
}

void TaskSplitter::buildForward(StageParts &stage) {
  Block *block = stage.getForwardBlock();
  TaskBuilder task(builder, ("s" + Twine(stage.stage) + "_F").str(),
                   TaskKind::Forward, stage.stage, stage.place,
                   stage.forward.getLoc(), parts.loss.getType());
  Sources sources = forwardSources(stage);
  if (makesLoss(stage))
    task.accumulate(lossRole(), materialise(task, sources, parts.loss));
  for (Value value : exports[block])
    task.addResult(savedRole(value, block), materialise(task, sources, value));
  task.finish();
}

void TaskSplitter::buildLoss(StageParts &stage) {
  TaskBuilder task(builder, ("s" + Twine(stage.stage) + "_L").str(),
                   TaskKind::Loss, stage.stage, stage.place,
                   stage.evaluation.getLoc(), parts.loss.getType());
  task.accumulate(lossRole(),
                  materialise(task, lossSources(stage), parts.loss));
  task.finish();
}

/// A task of the backward ops `ops`, in program order; what is computed again
/// stands right before its first use. It takes `kept` as it needs it and
/// returns, beside the stage's exports that it makes, `handedOn`.
void TaskSplitter::buildPart(StageParts &stage, StringRef suffix, TaskKind kind,
                             const llvm::SetVector<Operation *> &ops,
                             ArrayRef<Value> kept, ArrayRef<Value> handedOn) {
  Block *body = stage.getBackwardBlock();
  TaskBuilder task(builder, ("s" + Twine(stage.stage) + "_" + suffix).str(),
                   kind, stage.stage, stage.place, stage.backward.getLoc(),
                   parts.loss.getType());
  DenseSet<Value> isKept(kept.begin(), kept.end());
  Block *blocks[] = {stage.getForwardBlock(), entryBlock(), body};
  double recomputed = 0;
  Sources sources{throughPlace,
                  [&](Value value) {
                    return !isKept.contains(value) &&
                           llvm::is_contained(blocks, value.getParentBlock());
                  },
                  [&](Operation *op) { recomputed += estimateWork(op).flops; }};
  for (Operation *op : ops) {
    // A view stands where it is read: behind it may be a layer to compute.
    if (op->getNumOperands() > 0 && isFree(op) &&
        !gradientOf.contains(op->getResult(0)))
      continue;
    for (Value operand : op->getOperands())
      materialise(task, sources, operand);
    task.clone(op, [&](Value operand) { return throughPlace(operand); });
    for (Value result : op->getResults())
      for (StringRef param : gradientOf.lookup(result))
        task.accumulate(role(RoleKind::Grad, param), task.lookup(result));
  }
  if (stage.evaluation && kind != TaskKind::BackwardWeight)
    task.accumulate(lossRole(), materialise(task, sources, parts.trainingLoss));
  // Weights are the last to be done: gradients that no op makes go there.
  if (kind != TaskKind::BackwardInput)
    for (const LooseGradient &gradient : looseGradients.lookup(stage.stage))
      task.accumulate(role(RoleKind::Grad, gradient.param),
                      materialise(task, sources, gradient.value));
  llvm::SetVector<Value> results(handedOn.begin(), handedOn.end());
  if (kind != TaskKind::BackwardWeight)
    results.insert_range(exports[body]);
  for (Value value : results)
    task.addResult(savedRole(value, body), materialise(task, sources, value));
  TaskOp made = task.finish();
  if (recomputed > 0)
    made->setAttr(kRecomputedAttr,
                  builder.getI64IntegerAttr(static_cast<int64_t>(recomputed)));
}

void TaskSplitter::buildBackward(StageParts &stage) {
  Block &body = *stage.getBackwardBlock();
  ArrayRef<Value> kept = saved[stage.stage];
  llvm::SetVector<Operation *> all;
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return needed[stage.stage].contains(result);
        }))
      all.insert(&op);
  if (!splitsBackward)
    return buildPart(stage, "B", TaskKind::Backward, all, kept, {});

  llvm::SetVector<Operation *> weights =
      findWeightPart(body, exports[&body].getArrayRef(),
                     [&](Value value) { return gradientOf.contains(value); });
  llvm::SetVector<Operation *> inputs;
  for (Operation *op : all)
    if (!weights.contains(op))
      inputs.insert(op);
  // What the weight part reads of the input part. A value is computed again
  // only from others that the weight part reads anyway: the gradient of an
  // activation is handed on, not what it was made of.
  auto isNotWeights = [&](Value value) {
    return inputs.contains(value.getDefiningOp()) ||
           llvm::is_contained(kept, value);
  };
  llvm::SetVector<Value> crossing;
  for (Operation *op : weights)
    for (Value operand : op->getOperands()) {
      Value value = throughPlace(operand);
      if (isNotWeights(value))
        crossing.insert(value);
    }
  Sources looseSources{throughPlace,
                       [&](Value value) { return !isNotWeights(value); }};
  DenseSet<Value> computed;
  for (const LooseGradient &gradient : looseGradients.lookup(stage.stage))
    findTaken(looseSources, gradient.value, computed, crossing);
  sortByPosition(parts.entry, crossing);
  Block *blocks[] = {&body, stage.getForwardBlock(), entryBlock()};
  SmallVector<Value> taken = dropRecomputed(
      crossing.getArrayRef(), recompute,
      {parts.entry, blocks,
       [&](Value value) { return roleOf(value).has_value(); }, marked});
  SmallVector<Value> handedOn;
  for (Value value : taken)
    if (value.getParentBlock() == &body) {
      std::string &name = names[{&body, value}];
      if (name.empty())
        name = ("s" + Twine(stage.stage) + ".w" + Twine(handedOn.size())).str();
      handedOn.push_back(value);
    }
  buildPart(stage, "I", TaskKind::BackwardInput, inputs, kept, handedOn);
  SmallVector<Value> keptOrMade(kept);
  keptOrMade.append(handedOn);
  buildPart(stage, "W", TaskKind::BackwardWeight, weights, keptOrMade, {});
}

/// A transfer for each copy that somebody reads.
void TaskSplitter::buildTransfers() {
  DenseMap<int64_t, CopyOp> gradientCopies;
  for (CopyOp copy : parts.copies)
    if (copy.getGradientOf() && readers.contains(copy))
      gradientCopies[*copy.getGradientOf()] = copy;
  for (CopyOp copy : parts.copies) {
    auto read = readers.find(copy);
    if (read == readers.end())
      continue;
    auto place = copy.getX().getDefiningOp<PlaceOp>();
    Value value = throughPlace(copy.getX());
    StageParts *maker = value.getDefiningOp()
                            ? parts.getStageOf(value.getParentBlock())
                            : nullptr;
    bool isGradient = copy.getGradientOf().has_value();
    ArrayRef<int64_t> stages = read->second;
    int64_t first =
        isGradient ? *llvm::max_element(stages) : *llvm::min_element(stages);
    TransferOp::create(
        builder, copy.getLoc(), ("x" + Twine(copy.getId())).str(),
        names.lookup(
            {maker ? value.getParentBlock() : &place.getBody().front(), value}),
        copy.getFrom(), copy.getTo(), maker ? maker->stage : place.getStage(),
        first, copy.getType(), gradientCopies.contains(copy.getId()),
        isGradient
            ? FlatSymbolRefAttr::get(builder.getContext(),
                                     ("x" + Twine(*copy.getGradientOf())).str())
            : FlatSymbolRefAttr(),
        /*step=*/false);
  }
}

LogicalResult TaskSplitter::run() {
  for (CopyOp copy : parts.copies)
    if (!copy.getX().getDefiningOp<PlaceOp>())
      return copy.emitOpError("copies what no stage makes");
  collectMarks();
  nameBatchSums();
  if (failed(assignUpdates()))
    return failure();
  for (StageParts &stage : parts.stages)
    if (stage.backward)
      readThroughViews(stage);
  findWhatCrosses();
  nameExports();
  buildPrologues();
  for (StageParts &stage : parts.stages) {
    buildForward(stage);
    if (stage.evaluation)
      buildLoss(stage);
  }
  for (StageParts &stage : llvm::reverse(parts.stages))
    if (stage.backward)
      buildBackward(stage);
  buildTransfers();
  return success();
}

/// Parameters as the module keeps them when the entry is gone.
void declareParameters(EntryParts &parts, OpBuilder &builder) {
  llvm::MapVector<StringRef, SmallVector<ParamOp>> copies;
  func::FuncOp entry = parts.entry;
  for (auto param : entry.getOps<ParamOp>())
    copies[param.getParamName()].push_back(param);
  llvm::StringSet<> learning;
  for (UpdateOp update : parts.updates)
    learning.insert(update.getParam().getDefiningOp<ParamOp>().getParamName());
  for (auto &[name, params] : copies) {
    ParamOp param = params.front();
    SmallVector<int64_t> places;
    for (ParamOp copy : params)
      places.push_back(copy.getPlace().value_or(0));
    llvm::sort(places);
    ParamDeclOp::create(builder, param.getLoc(), param.getParamNameAttr(),
                        TypeAttr::get(param.getType()), param.getInitAttr(),
                        param.getFrozenAttr(), param.getNoDecayAttr(),
                        learning.contains(name) ? builder.getUnitAttr()
                                                : UnitAttr(),
                        builder.getDenseI64ArrayAttr(places));
  }
}

struct SplitTasks : pp::impl::SplitTasksBase<SplitTasks> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<EntryParts> parts = findParts(*entry);
    if (failed(parts))
      return signalPassFailure();
    OpBuilder builder(*entry);
    declareParameters(*parts, builder);
    TaskSplitter splitter(*parts, *plan, builder);
    if (failed(splitter.run()))
      return signalPassFailure();
    entry->erase();
  }
};

} // namespace
