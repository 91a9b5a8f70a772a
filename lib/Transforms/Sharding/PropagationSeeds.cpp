//===- PropagationSeeds.cpp - What shardings begin with -------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

FailureOr<int64_t> pp::getModelBatch(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0)
      return type.getDimSize(0);
  }
  return entry.emitError("the model has no input with a first dimension, so "
                         "there is no batch to split"),
         failure();
}

FailureOr<Sharding>
pp::cutRows(const ShardingAxes &axes, ArrayRef<int64_t> shape,
            llvm::function_ref<InFlightDiagnostic()> refuse) {
  Sharding sharding(shape.size());
  int64_t period = shape.empty() ? 1 : shape[0];
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis].splitsBatch)
      continue;
    if (shape.empty() ||
        !addCut(sharding.dims[0], {axis, period}, shape[0], axes))
      return refuse() << "has no rows that " << axes[axis].name.getValue()
                      << "=" << axes[axis].parts << " divides",
             failure();
    period /= axes[axis].parts;
  }
  return sharding;
}

/// Returns how an input is cut: its rows over the batch axes, and as its author
/// wrote.
static FailureOr<Sharding> getInputSharding(const ShardingAxes &axes,
                                            BlockArgument input) {
  ArrayRef<int64_t> shape = getShape(input);
  auto entry = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto refuse = [&] { return emitError(input.getLoc()) << "this input "; };
  FailureOr<Sharding> rows = cutRows(axes, shape, refuse);
  if (failed(rows))
    return failure();
  Sharding &sharding = *rows;
  auto attr =
      entry.getArgAttrOfType<ShardingAttr>(input.getArgNumber(), kShardAttr);
  if (!attr)
    return sharding;
  FailureOr<Sharding> annotation = readSharding(axes, attr, shape, refuse);
  if (failed(annotation))
    return failure();
  if (annotation->getPartial() ||
      (annotation->getCutAxes() & axes.getBatchAxes()))
    return refuse() << "is annotated with an axis that splits the batch, or as "
                       "a partial result; rows are cut without an annotation",
           failure();
  for (auto [dim, cuts] : llvm::enumerate(annotation->dims))
    for (Cut cut : cuts)
      if (!addCut(sharding.dims[dim], cut, shape[dim], axes))
        return refuse() << "is annotated so that "
                        << axes[cut.axis].name.getValue()
                        << " cuts the same rows as an axis that splits the "
                           "batch; put more outer parts before it",
               failure();
  return sharding;
}

/// Reads what the model's author wrote on parameters and inputs.
LogicalResult ShardingPropagation::readAnnotations() {
  for (auto param : entry.getOps<ParamOp>()) {
    ShardingAttr attr = param.getShardAttr();
    if (!attr)
      continue;
    FailureOr<Sharding> sharding = readSharding(
        axes, attr, getShape(param), [&] { return param.emitOpError(); });
    if (failed(sharding))
      return failure();
    if (sharding->getPartial())
      return param.emitOpError("is annotated as a partial result; a parameter "
                               "is cut or the same on all ranks");
    if (sharding->getCutAxes() & batchAxes)
      return param.emitOpError("is annotated with an axis that splits the "
                               "batch; name an axis that no input is cut over");
    if (!sharding->getCutAxes())
      continue;
    annotated.insert(param.getParamNameAttr());
    params[param.getParamNameAttr()] = std::move(*sharding);
  }
  for (BlockArgument argument : entry.getArguments()) {
    FailureOr<Sharding> sharding = getInputSharding(axes, argument);
    if (failed(sharding))
      return failure();
    inputs.push_back(std::move(*sharding));
  }
  return success();
}

InFlightDiagnostic pp::emitCutsNothing(func::FuncOp entry,
                                       const ShardingAxis &axis) {
  InFlightDiagnostic diag = entry.emitError("the mesh's axis ");
  diag << axis.name.getValue() << "=" << axis.parts
       << " cuts nothing: all of its ranks would compute the same";
  return diag;
}

LogicalResult ShardingPropagation::checkAxesAreUsed() {
  AxisSet used = 0;
  for (auto &[value, sharding] : table.values)
    used |= sharding.getCutAxes();
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    if (!contains(used, axis))
      return emitCutsNothing(entry, axes[axis]) << "; " << kAnnotateAdvice;
  return success();
}
