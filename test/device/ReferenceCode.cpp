//===- ReferenceCode.cpp - Kernels as the target cpu computes them --------===//

#include "ReferenceCode.h"

#include "DeviceCode.h"
#include "parallel.h"

#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace mlir::pp;
using namespace emulated;

/// Removes what another target has decided.
static void clearPlans(ModuleOp module) {
  for (auto kernel : module.getOps<KernelOp>()) {
    kernel.removeTilesAttr();
    kernel->removeAttr("threads");
    for (unsigned i = 0, e = kernel.getNumArguments() + kernel.getNumResults();
         i < e; ++i)
      kernel.setPitch(i, std::nullopt);
    kernel.walk([](ReduceOp reduce) { reduce->removeAttr("pp.lanes"); });
  }
}

llvm::Expected<ReferenceCode>
ReferenceCode::compile(KernelModule &kernels, llvm::CodeGenOptLevel level) {
  const Target *cpu = findTarget("cpu");
  Machine machine;
  machine.name = "cpu";
  cpu->setNative(machine);
  Messages messages(*kernels.context);
  clearPlans(*kernels.module);

  ReferenceCode code;
  PassManager plan(kernels.context.get());
  plan.enableVerifier(false); // tasks of another target
  cpu->addPlanKernels(plan, machine);
  if (failed(plan.run(*kernels.module)))
    return messages.take("the kernels can't be planned for the target cpu");
  llvm::StringMap<int64_t> counts;
  for (auto kernel : kernels.module->getOps<KernelOp>())
    counts[kernel.getSymName()] = kernel.getTilesAttr().getCount();

  PassManager native(kernels.context.get());
  native.enableVerifier(false);
  cpu->addNativePasses(native, machine, createKeepKernelCode());
  if (failed(native.run(*kernels.module)))
    return messages.take("the kernels can't be emitted for the target cpu");
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*kernels.module, *context, "reference");
  if (!module)
    return messages.take("the kernels can't be translated to LLVM IR");

  auto jit = createJit(llvm::FPOpFusion::Standard, level);
  if (!jit)
    return jit.takeError();
  code.jit = std::move(*jit);
  module->setDataLayout(code.jit->getDataLayout());
  module->setTargetTriple(code.jit->getTargetTriple());
  if (llvm::Error error = code.jit->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return error;
  for (const auto &each : counts) {
    auto address = code.jit->lookup((each.first() + "_tiles").str());
    if (!address)
      return address.takeError();
    code.entries[each.first()] = {
        address->toPtr<void(void **, int64_t, int64_t)>(), each.second};
  }
  return code;
}

void ReferenceCode::run(StringRef kernel, void **buffers) const {
  const Entry &entry = entries.find(kernel)->second;
  entry.tiles(buffers, 0, entry.count);
}

void ReferenceCode::runOnAllCores(StringRef kernel, void **buffers) const {
  const Entry &entry = entries.find(kernel)->second;
  ::ppopt::gpu::forParts(
      entry.count, /*grain=*/1,
      [&](int64_t begin, int64_t end) { entry.tiles(buffers, begin, end); });
}
