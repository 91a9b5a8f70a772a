//===- Places.cpp - What each place holds and runs ------------------------===//

#include "ppopt/Program/Places.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

static llvm::StringSet<> findInputs(ArrayRef<TaskOp> tasks) {
  llvm::StringSet<> names;
  for (TaskOp task : tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (task.getArgRole(i).getKind() == RoleKind::Input)
        names.insert(task.getArgRole(i).getName());
  return names;
}

SmallVector<PlaceContents, 0> pp::collectPlaces(ModuleOp module, PlanOp plan) {
  SmallVector<PlaceContents, 0> places(plan.getPlaces());
  for (auto [i, place] : llvm::enumerate(places))
    place.place = i;
  for (auto task : module.getOps<TaskOp>())
    places[task.getPlace()].tasks.push_back(task);
  for (auto bucket : module.getOps<BucketOp>())
    for (int64_t place : bucket.getPlaces())
      places[place].buckets.push_back(bucket);
  for (auto param : module.getOps<ParamDeclOp>())
    for (int64_t place : param.getPlaces())
      places[place].params.push_back(param);
  for (auto schedule : module.getOps<ScheduleOp>())
    for (PlaceContents &place : places)
      if (schedule.isOf(place.place))
        place.schedules.push_back(schedule);
  for (PlaceContents &place : places) {
    llvm::StringSet<> names = findInputs(place.tasks);
    for (auto input : module.getOps<InputDeclOp>())
      if (names.contains(input.getInputName()))
        place.inputs.push_back(input);
  }
  return places;
}

/// Returns whether tasks add to what has a role of this kind, or note it there:
/// every place has it.
static bool isScalar(RoleKind kind) {
  switch (kind) {
  case RoleKind::Loss:
  case RoleKind::Norm:
  case RoleKind::Global:
  case RoleKind::Check:
  case RoleKind::Metric:
  case RoleKind::MetricCount:
    return true;
  default:
    return false;
  }
}

llvm::MapVector<RoleAttr, ShapedType> pp::findScalars(ModuleOp module) {
  llvm::MapVector<RoleAttr, ShapedType> scalars;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      if (isScalar(role.getKind()))
        scalars.insert({role, cast<ShapedType>(task.getArgumentTypes()[i])});
    }
  return scalars;
}

SmallVector<TaskOutput> pp::findOutputs(ModuleOp module) {
  SmallVector<TaskOutput> outputs;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (RoleAttr role = task.getArgRole(i);
          role.getKind() == RoleKind::Output &&
          task.getKind() == TaskKind::Evaluation)
        outputs.push_back(
            {task, role, cast<ShapedType>(task.getArgumentTypes()[i])});
  return outputs;
}

int64_t pp::getScratchBytes(StartOp start, PlanOp plan,
                            const CollectiveOperand &operand) {
  if (plan.getLaunch() == Launch::local)
    return 0;
  return geometry::scratchElements(
             start.getKind(), operand.elements,
             plan.getGeometry().size(start.getGroup().getGeometry())) *
         getElementBytes(operand.type);
}
