//===- LineThreads.cpp - Lines along a dimension, on a GPU ----------------===//
//
// A thread goes along a line in order, so that sums have one order. Threads of
// a block have neighbouring lines.
//
//===----------------------------------------------------------------------===//

#include "LineThreads.h"

#include "DeviceThread.h"

#include "ppopt/Codegen/RunningSum.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

void pp::planLines(KernelOp kernel) {
  int64_t lines = kernel.getFormAttr().getNumElements();
  int64_t threads = countThreads(kernel, lines);
  setTiles(kernel, llvm::divideCeil(lines, threads), threads, TileUnit::Rows,
           threads, /*perRow=*/1, /*each=*/1);
}

/// Emits `body` for the number of the thread's line, if it has one.
static void emitForLine(DeviceThread &thread, KernelOp kernel,
                        llvm::function_ref<void(Value)> body) {
  int64_t lines = kernel.getFormAttr().getNumElements();
  int64_t width = kernel.getTilesAttr().getSize();
  Value number =
      thread.add(thread.mul(thread.getBlock(), width), thread.thread);
  Value isLine;
  if (lines % width != 0)
    isLine = thread.isBelow(number, thread.index(lines));
  thread.emitIf(isLine, [&] { body(number); });
}

void pp::emitScatterLine(OpBuilder &builder, KernelOp kernel,
                         ValueRange buffers, ScatterAddOp op) {
  ElementPuller puller(builder, kernel, buffers);
  ScatterLine scatter(puller, op);
  DeviceThread thread(builder, kernel.getLoc());
  emitForLine(thread, kernel, [&](Value number) {
    Line line = scatter.lines.getLine(number);
    auto forAll = [&](int64_t count, llvm::function_ref<void(Value)> body) {
      thread.loop(thread.index(0), thread.index(count), 1, {},
                  [&](Value at, ValueRange) {
                    body(at);
                    return SmallVector<Value>();
                  });
    };
    if (scatter.startsElsewhere())
      forAll(scatter.lines.along.size,
             [&](Value at) { scatter.emitStart(line, at); });
    forAll(scatter.countUpdates(), [&](Value at) {
      scatter.emitAddition(line, at, scatter.pullId(line, at));
    });
  });
}

namespace {

class ScanForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override {
    planLines(kernel);
    return success();
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    ElementPuller puller(builder, kernel, buffers);
    RunningSum scan(puller, cast<CumsumOp>(kernel.getFormOp()));
    DeviceThread thread(builder, kernel.getLoc());
    emitForLine(thread, kernel, [&](Value number) {
      Line line = scan.lines.getLine(number);
      thread.loop(thread.index(0), thread.index(scan.lines.along.size), 1,
                  {scan.getZero()}, [&](Value step, ValueRange sums) {
                    return SmallVector<Value>{
                        scan.emitStep(line, scan.getPlace(step), sums[0])};
                  });
    });
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Scan, ScanForm)
