//===- EmitOrder.cpp - Kernels of form order ------------------------------===//

#include "CpuForm.h"

using namespace mlir;
using namespace mlir::pp;

namespace {
class OrderForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override {
    return {};
  }
  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override {}
};
} // namespace

PP_KERNEL_FORM(CpuForm, Order, OrderForm)
PP_KERNEL_FORM(CpuForm, Scan, OrderForm)
