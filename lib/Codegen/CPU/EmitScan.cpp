//===- EmitScan.cpp - Running sums, on a CPU ------------------------------===//

#include "CpuForm.h"
#include "LineTiles.h"

#include "ppopt/Codegen/RunningSum.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class ScanForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    return planColumnTiles(kernel, kernel.getFormAttr().getRows());
  }

  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override;
};

} // namespace

/// The sums of a tile's lines are in memory of the thread.
void ScanForm::emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                    int64_t vectorBytes, Value begin, Value end) const {
  ElementPuller puller(builder, kernel, buffers);
  RunningSum scan(puller, cast<CumsumOp>(kernel.getFormOp()));
  Location loc = kernel.getLoc();
  Value zero = puller.constant(0);
  Type type = scan.getType();
  Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         kernel.getTilesAttr().getSize());
  Value sums = LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
      count, /*alignment=*/64);
  emitLineTiles(
      puller, scan.lines.along, begin, end, [&](const LineTile &tile) {
        auto forLines = [&](llvm::function_ref<void(Value, Value)> body) {
          emitLoop(builder, loc, zero, tile.width, [&](scf::ForOp, Value i) {
            body(i, puller.address(sums, type, i));
          });
        };
        forLines([&](Value, Value sum) {
          LLVM::StoreOp::create(builder, loc, scan.getZero(), sum);
        });
        emitLoop(builder, loc, zero, puller.constant(scan.lines.along.size),
                 [&](scf::ForOp, Value step) {
                   Value at = scan.getPlace(step);
                   forLines([&](Value i, Value sum) {
                     Line line = scan.lines.getLine(tile.outerNumber,
                                                    puller.add(tile.first, i));
                     Value before =
                         LLVM::LoadOp::create(builder, loc, type, sum);
                     LLVM::StoreOp::create(
                         builder, loc, scan.emitStep(line, at, before), sum);
                   });
                 });
      });
}

PP_KERNEL_FORM(CpuForm, Scan, ScanForm)
