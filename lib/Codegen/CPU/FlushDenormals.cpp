//===- FlushDenormals.cpp - Makes a program compute without denormals -----===//

#include "ppopt/Codegen/CPU/Passes.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::pp {
#define GEN_PASS_DEF_FLUSHDENORMALS
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;

/// Of MXCSR: denormals as operands are 0, and so are results (FTZ).
static constexpr int32_t daz = 1 << 6, ftz = 1 << 15;

namespace {

struct FlushDenormals : pp::impl::FlushDenormalsBase<FlushDenormals> {
  void runOnOperation() override {
    for (auto plan : getOperation().getOps<pp::PlanOp>())
      if (plan.getDenormals() == pp::Denormals::flush)
        flush();
  }

private:
  void flush() {
    // So that LLVM folds constants to what the instructions give.
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isDeclaration())
        function.setDenormalFpMath("preserve-sign,preserve-sign");
    addConstructor();
  }

  /// The register belongs to a thread, and a new thread has its creator's
  /// value: the first one sets it before main.
  void addConstructor() {
    Location loc = getOperation().getLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    Type nothing = LLVM::LLVMVoidType::get(builder.getContext());
    auto function = LLVM::LLVMFuncOp::create(
        builder, loc, "flush_denormals",
        LLVM::LLVMFunctionType::get(nothing, {}), LLVM::Linkage::Internal);
    function.setOptimizeNone(true); // stays beside the list of constructors
    function.setNoInline(true);
    LLVM::GlobalCtorsOp::create(
        builder, loc, builder.getArrayAttr(FlatSymbolRefAttr::get(function)),
        builder.getI32ArrayAttr(0),
        builder.getArrayAttr(LLVM::ZeroAttr::get(builder.getContext())));
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    Type word = builder.getI32Type();
    Value one = LLVM::ConstantOp::create(builder, loc, word, 1);
    Value at = LLVM::AllocaOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), word,
        one);
    auto call = [&](StringRef intrinsic) {
      LLVM::CallIntrinsicOp::create(builder, loc,
                                    builder.getStringAttr(intrinsic), at);
    };
    call("llvm.x86.sse.stmxcsr");
    Value old = LLVM::LoadOp::create(builder, loc, word, at);
    Value bits = LLVM::ConstantOp::create(builder, loc, word, daz | ftz);
    LLVM::StoreOp::create(builder, loc,
                          LLVM::OrOp::create(builder, loc, old, bits), at);
    call("llvm.x86.sse.ldmxcsr");
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }
};

} // namespace
