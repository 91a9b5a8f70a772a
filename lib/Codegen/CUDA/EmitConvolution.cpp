//===- EmitConvolution.cpp - Convolutions, on a GPU -----------------------===//
//
// A thread computes an element of the result. Those of a block have neighbours,
// which read neighbouring elements of x and the same ones of w.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "DeviceThread.h"

#include "ppopt/Codegen/Convolution.h"
#include "ppopt/Codegen/LinesAlongDim.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class ConvThread {
public:
  ConvThread(ElementPuller &puller, DeviceThread &thread, ConvOp op,
             ArrayRef<Value> index)
      : thread(thread), reads(puller, op), index(index) {}

  /// Emits the sum of all products.
  Value emitSum() {
    Value zero =
        arith::ConstantOp::create(thread.builder, thread.loc,
                                  thread.builder.getZeroAttr(reads.getType()));
    return loop(reads.getChannels(), zero, [&](Value c, Value sum) {
      return addProducts(c, {}, {}, sum);
    });
  }

private:
  Value loop(int64_t size, Value sum,
             llvm::function_ref<Value(Value, Value)> body) {
    return thread.loop(thread.index(0), thread.index(size), 1, {sum},
                       [&](Value i, ValueRange sums) {
                         return SmallVector<Value>{body(i, sums[0])};
                       })[0];
  }

  /// Adds the products of a channel, for k that begin with `k`.
  Value addProducts(Value c, ArrayRef<Value> k, ArrayRef<Value> at, Value sum) {
    unsigned dim = k.size();
    if (dim == reads.getSpatialRank())
      return math::FmaOp::create(thread.builder, thread.loc,
                                 reads.pullX(index, c, at),
                                 reads.pullW(index, c, k), sum);
    return loop(reads.getKernelSize(dim), sum, [&](Value next, Value before) {
      ConvReads::Read read =
          reads.getRead(dim, index[ConvReads::kFirstSpatial + dim], next);
      SmallVector<Value> nextK(k), nextAt(at);
      nextK.push_back(next);
      nextAt.push_back(read.at);
      return thread.emitIfElse(
          read.isInside,
          [&] {
            return SmallVector<Value>{addProducts(c, nextK, nextAt, before)};
          },
          [&] { return SmallVector<Value>{before}; })[0];
    });
  }

  DeviceThread &thread;
  ConvReads reads;
  ArrayRef<Value> index;
};

class ConvForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override {
    int64_t elements = kernel.getFormAttr().getNumElements();
    int64_t threads = countThreads(kernel, elements);
    setTiles(kernel, llvm::divideCeil(elements, threads), threads,
             TileUnit::Elements, threads, /*perRow=*/1, /*each=*/1);
    return success();
  }

  LogicalResult check(KernelOp kernel) const override {
    if (kernel.getTilesAttr().getUnit() == TileUnit::Elements &&
        kernel.getTilesAttr().getSize() == kernel.getThreadsAttr().getCount())
      return success();
    return kernel.emitOpError("has no tiles of one element per thread; run "
                              "--pp-plan-cuda-kernels first");
  }

  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {
    ElementPuller puller(builder, kernel, buffers);
    setNoPosition(puller);
    DeviceThread thread(builder, kernel.getLoc());
    FormAttr form = kernel.getFormAttr();
    int64_t width = kernel.getTilesAttr().getSize();
    Value number =
        thread.add(thread.mul(thread.getBlock(), width), thread.thread);
    Value isElement;
    if (form.getNumElements() % width != 0)
      isElement = thread.isBelow(number, thread.index(form.getNumElements()));
    thread.emitIf(isElement, [&] {
      SmallVector<Value> index = puller.delinearize(number, form.getSizes());
      auto op = cast<ConvOp>(kernel.getFormOp());
      puller.storeOrAdd(ConvThread(puller, thread, op, index).emitSum(),
                        number);
    });
  }
};

} // namespace

PP_KERNEL_FORM(CudaForm, Conv, ConvForm)
