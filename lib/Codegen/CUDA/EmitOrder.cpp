//===- EmitOrder.cpp - Kernels of form order on GPUs ----------------------===//

#include "CudaForm.h"

using namespace mlir;
using namespace mlir::pp;

namespace {
class OrderForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override { return failure(); }
  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override {}
};
} // namespace

PP_KERNEL_FORM(CudaForm, Order, OrderForm)
PP_KERNEL_FORM(CudaForm, Scan, OrderForm)
