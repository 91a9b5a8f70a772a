//===- VerifyKernels.cpp - Checks tasks and arenas of phase kernels -------===//
//
// The contract of phase `kernels`. Changes nothing. A task contains launches
// and matmuls on buffers that it is given: no tensor, no allocation, no copy
// other than a launch. Collectives are those of its signature. The arena's
// ranges are contiguous, and every temporary is within its task's. What an op
// reads has been written (TaskMemory.h), and collectives are of the buckets
// that they name (TaskShards.h). How each kernel is computed is decided, and no
// sweep reads what an earlier one has overwritten.
//
//===----------------------------------------------------------------------===//

#include "TaskMemory.h"

#include "ppopt/Dialect/PP/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "ppopt/Program/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ::ppopt::geometry;

namespace {

/// Verifies that a start is the one that the signature lists under its number,
/// and that its buffers are of the bytes that the ranks of its group move.
LogicalResult verifyBegin(BeginOp begin) {
  auto task = cast<TaskOp>(begin->getParentOp());
  SmallVector<TaskCollectiveAttr> listed = task.getCollectiveList();
  int64_t number = begin.getNumber();
  if (number < 0 || number >= int64_t(listed.size()))
    return begin.emitOpError("is number ")
           << number << " of the " << listed.size() << " collectives of @"
           << task.getSymName();
  TaskCollectiveAttr collective = listed[number];
  if (begin.getCollectiveAttr() != collective.getCollective())
    return begin.emitOpError("is another collective than the signature's ")
           << collective;
  FailureOr<PlanOp> plan = findPlan(task->getParentOfType<ModuleOp>());
  if (failed(plan))
    return failure();
  geometry::Collective kind = collective.getCollective().getKind();
  int64_t ranks = plan->getGeometry().size(collective.getGroup().getGeometry());
  int64_t elements = collective.getElements();
  int64_t element = getElementBytes(collective.getType());
  int64_t whole = elements * element, chunk = elements / ranks * element;
  int64_t in = kind == geometry::Collective::AllGather ? chunk : whole;
  int64_t out = kind == geometry::Collective::ReduceScatter ? chunk : whole;
  if (getBytes(begin.getX().getType()) != in ||
      getBytes(begin.getOuts()[0].getType()) != out)
    return begin.emitOpError("is from ")
           << getBytes(begin.getX().getType()) << " bytes to "
           << getBytes(begin.getOuts()[0].getType()) << ", and the signature's "
           << collective << " over " << ranks << " ranks from " << in << " to "
           << out;
  if (!geometry::hasScratch(kind))
    return success();
  int64_t scratch = geometry::scratchElements(kind, elements, ranks) * element;
  if (getBytes(begin.getOuts()[1].getType()) < scratch)
    return begin.emitOpError("has ")
           << getBytes(begin.getOuts()[1].getType())
           << " bytes of scratch memory, and " << collective << " over "
           << ranks << " ranks needs " << scratch;
  return success();
}

/// Verifies that a view is within its buffer, and has its rows if these are
/// padded.
LogicalResult verifyView(memref::ReinterpretCastOp view) {
  MemRefType type = view.getType();
  auto source = cast<MemRefType>(view.getSource().getType());
  int64_t offset = view.getStaticOffsets()[0];
  int64_t end =
      offset * getElementBytes(type.getElementType()) + getBytes(type);
  int64_t room = getAlignedBytes(source);
  if (end > room)
    return view.emitOpError("ends at byte ")
           << end << " of a buffer of " << room;
  Pitch pitch = getPitch(source);
  bool hasRows =
      offset == 0 && getPitch(type) == pitch &&
      getColumnCount(type.getShape()) == getColumnCount(source.getShape());
  if (pitch && !hasRows)
    return view.emitOpError("has other rows than its buffer, ") << source;
  return success();
}

LogicalResult verifyTask(TaskOp task) {
  int64_t temps = task.getTempBytes().value_or(0);
  int64_t alignment = getBufferAlignment(task);
  for (Type type : task.getArgumentTypes())
    if (auto buffer = dyn_cast<MemRefType>(type); buffer && getPitch(buffer))
      return task.emitOpError("takes ")
             << buffer << ", but what tasks exchange has dense rows";
  for (Operation &op : task.getBody().front()) {
    if (!isa<LaunchOp, GemmOp, TempOp, memref::ReinterpretCastOp, ReturnOp,
             BeginOp, FinishOp, ReleaseOp>(op))
      return op.emitOpError("is not a launch, matmul, collective or view: a "
                            "task of phase kernels neither allocates nor "
                            "copies");
    for (Type type : op.getOperandTypes())
      if (!isa<MemRefType>(type))
        return op.emitOpError("takes a ") << type << ", which is not a buffer";
    if (auto view = dyn_cast<memref::ReinterpretCastOp>(op);
        view && failed(verifyView(view)))
      return failure();
    if (auto begin = dyn_cast<BeginOp>(op); begin && failed(verifyBegin(begin)))
      return failure();
    if (auto temp = dyn_cast<TempOp>(op)) {
      int64_t end = temp.getOffset() + getBytes(temp.getType());
      if (temp.getOffset() % alignment != 0 || end > temps)
        return temp.emitOpError("ends at byte ")
               << end << " of @" << task.getSymName() << "'s " << temps
               << ", or is not aligned to " << alignment;
    }
  }
  return success();
}

/// What is decided of a kernel fits its body (KernelOp::verifyForm).
LogicalResult verifyDecided(KernelOp kernel) {
  if (!kernel.getFormAttr())
    return kernel.emitOpError("has no form: run --pp-form-kernels");
  if (!kernel.getTilesAttr())
    return kernel.emitOpError("has no tiles: run the target's pass that plans "
                              "kernels");
  return success();
}

LogicalResult verifyArenas(ModuleOp module) {
  std::map<int64_t, int64_t> ends; // of each place's ranges so far
  int64_t alignment = getBufferAlignment(module);
  for (auto region : module.getOps<RegionOp>()) {
    int64_t &end = ends[region.getPlace()];
    if (region->hasAttr(kOverlaidAttr)) {
      if (region.getOffset() + region.getBytes() > end)
        return region.emitOpError("is overlaid and ends at ")
               << region.getOffset() + region.getBytes()
               << ", but the regions before it end at " << end;
      continue;
    }
    if (region.getOffset() != end)
      return region.emitOpError("begins at ")
             << region.getOffset() << ", but the one before ends at " << end;
    if (region.getBytes() % alignment != 0)
      return region.emitOpError("is of ")
             << region.getBytes() << " bytes, not a multiple of " << alignment;
    end += region.getBytes();
  }
  return success();
}

struct VerifyKernels : pp::impl::VerifyKernelsBase<VerifyKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(verifyDecided(kernel)))
        return signalPassFailure();
    DenseSet<std::pair<Operation *, Attribute>> seen;
    WalkResult result = getOperation().walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      bool isNew = seen.insert({kernel, launch.getInplaceAttr()}).second;
      return WalkResult(isNew ? verifyInplace(launch, kernel) : success());
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto task : getOperation().getOps<TaskOp>())
      if (failed(verifyTask(task)) || failed(verifyMemory(task)))
        return signalPassFailure();
    if (failed(verifyArenas(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
