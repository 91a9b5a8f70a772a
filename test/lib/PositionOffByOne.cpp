//===- PositionOffByOne.cpp - Reads the row of the next position ----------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_POSITIONOFFBYONE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PositionOffByOne : pp::impl::PositionOffByOneBase<PositionOffByOne> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    Value position = findPosition(*entry);
    if (failed(requireChange(position != nullptr, getOperation(),
                             "position of a program that generates")))
      return signalPassFailure();
    auto type = cast<RankedTensorType>(position.getType());
    OpBuilder builder = OpBuilder::atBlockBegin(&entry->front());
    auto makeConstant = [&](int64_t value) {
      return ConstantOp::create(builder, position.getLoc(),
                                DenseElementsAttr::get(type, value));
    };
    auto range = entry->getArgAttrOfType<IntegerAttr>(
        cast<BlockArgument>(position).getArgNumber(), "pp.range");
    Value next =
        AddOp::create(builder, position.getLoc(), position, makeConstant(1));
    Value clamped = MinimumOp::create(builder, position.getLoc(), next,
                                      makeConstant(range.getInt() - 1));
    position.replaceAllUsesExcept(clamped, next.getDefiningOp());
  }

private:
  static Value findPosition(func::FuncOp entry) {
    for (BlockArgument argument : entry.getArguments()) {
      auto role =
          entry.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), "pp.role");
      if (role && role.getKind() == RoleKind::Input &&
          role.getName() == "position")
        return argument;
    }
    return nullptr;
  }
};

} // namespace
