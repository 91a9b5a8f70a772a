//===- KernelPitches.cpp - Padded rows of the buffers of kernels ----------===//

#include "ppopt/Dialect/PP/KernelForms.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

Pitch KernelOp::getPitch(unsigned buffer) {
  unsigned arguments = getNumArguments();
  Attribute attr = buffer < arguments
                       ? getArgAttr(buffer, kPitchAttr)
                       : getResultAttr(buffer - arguments, kPitchAttr);
  auto pitch = dyn_cast_or_null<IntegerAttr>(attr);
  return pitch ? Pitch(pitch.getInt()) : std::nullopt;
}

void KernelOp::setPitch(unsigned buffer, Pitch pitch) {
  unsigned arguments = getNumArguments();
  Builder builder(getContext());
  if (buffer < arguments) {
    removeArgAttr(buffer, builder.getStringAttr(kPitchAttr));
    if (pitch)
      setArgAttr(buffer, kPitchAttr, builder.getI64IntegerAttr(*pitch));
    return;
  }
  removeResultAttr(buffer - arguments, builder.getStringAttr(kPitchAttr));
  if (pitch)
    setResultAttr(buffer - arguments, kPitchAttr,
                  builder.getI64IntegerAttr(*pitch));
}

bool KernelOp::hasPitch() {
  return llvm::any_of(
      llvm::seq<unsigned>(0, getNumArguments() + getNumResults()),
      [&](unsigned buffer) { return getPitch(buffer).has_value(); });
}

bool KernelOp::takesPitches(bool ofResults) {
  FormAttr form = getFormAttr();
  if (!form || form.getKind() == KernelForm::Rows)
    return form != nullptr;
  KernelFormOpInterface op = getFormOp();
  return !ofResults && !(op && op.usesStrides());
}

LogicalResult KernelOp::verifyPitches() {
  SmallVector<Type> types(getArgumentTypes());
  types.append(getResultTypes().begin(), getResultTypes().end());
  for (auto [i, type] : llvm::enumerate(types)) {
    Pitch pitch = getPitch(i);
    if (!pitch)
      continue;
    bool isResult = i >= getNumArguments();
    size_t number = isResult ? i - getNumArguments() : i;
    auto refuse = [&] {
      return emitOpError(isResult ? "result " : "argument ")
             << number << " has a pitch of " << *pitch << " elements, ";
    };
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    if (getRowCount(shape) == 1 || *pitch <= getColumnCount(shape))
      return refuse() << "but " << getRowCount(shape) << " rows of "
                      << getColumnCount(shape) << " columns";
    if (!takesPitches(isResult))
      return refuse() << "which its form does not read or write by";
    if (getTilesAttr() && getTilesAttr().getUnit() == TileUnit::Elements)
      return refuse() << "but its tiles make all rows one range";
  }
  return success();
}

/// Checks some buffers of a launch; `first` is the kernel's number of the
/// first.
static LogicalResult verifyPitches(LaunchOp launch, KernelOp kernel,
                                   ValueRange buffers, unsigned first,
                                   StringRef what) {
  auto describe = [](Pitch pitch) {
    return pitch ? "a pitch of " + std::to_string(*pitch) : "dense rows";
  };
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    Pitch own = type ? getPitch(type) : std::nullopt;
    Pitch wanted = kernel.getPitch(first + i);
    if (type && own != wanted)
      return launch.emitOpError("has ")
             << what << " " << i << " with " << describe(own) << ", but @"
             << kernel.getSymName() << " takes it with " << describe(wanted);
  }
  return success();
}

LogicalResult pp::verifyPitches(LaunchOp launch, KernelOp kernel) {
  if (failed(::verifyPitches(launch, kernel, launch.getIns(), 0, "argument")))
    return failure();
  return ::verifyPitches(launch, kernel, launch.getOuts(),
                         launch.getIns().size(), "result");
}
