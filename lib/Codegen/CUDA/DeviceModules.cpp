//===- DeviceModules.cpp - Modules of the code of a GPU -------------------===//

#include "DeviceModules.h"

#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

bool pp::hasAccurateMath(ModuleOp module) {
  for (auto plan : module.getOps<PlanOp>())
    return plan.getMath() == Math::accurate;
  return false;
}

ModuleOp pp::getDeviceModule(ModuleOp module, bool isWide) {
  StringRef name = isWide ? "device_wide" : "device";
  if (auto found = module.lookupSymbol<ModuleOp>(name))
    return found;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto added = ModuleOp::create(builder, module.getLoc(), name);
  auto entry = DataLayoutEntryAttr::get(
      builder.getIndexType(), builder.getI64IntegerAttr(isWide ? 64 : 32));
  added->setAttr(DLTIDialect::kDataLayoutAttrName,
                 DataLayoutSpecAttr::get(module.getContext(), {entry}));
  if (hasAccurateMath(module))
    added->setAttr(kAccurateAttr, builder.getUnitAttr());
  return added;
}

LLVM::LLVMFuncOp pp::addKernel(OpBuilder &builder, ModuleOp module,
                               Location loc, StringRef name, int64_t threads,
                               int64_t resident, unsigned pointers) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types(pointers, LLVM::LLVMPointerType::get(context));
  builder.setInsertionPointToEnd(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(static_cast<int32_t>(
                        std::max<int64_t>(resident / threads, 1))));
  for (unsigned i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}
