//===- KernelForms.h - A target's code for each form of kernels -----------===//
//
// A target has a class, such as CpuForm, and an object of it for each form:
//
//   PP_KERNEL_FORM(CpuForm, Rows, RowsForm)
//
// A form without one is an undefined symbol of the table.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_KERNELFORMS_H
#define PPOPT_CODEGEN_KERNELFORMS_H

#include "ppopt/Dialect/PP/KernelOps.h"

#include <utility>

namespace mlir::pp {

template <typename Form, KernelForm kind> const Form &getFormOf();

/// Defines the object, of class `Class`, for a form.
#define PP_KERNEL_FORM(Form, kind, Class)                                      \
  template <>                                                                  \
  const Form &mlir::pp::getFormOf<Form, mlir::pp::KernelForm::kind>() {        \
    static const Class form;                                                   \
    return form;                                                               \
  }

template <typename Form, size_t... kinds>
const Form &findForm(KernelForm kind, std::index_sequence<kinds...>) {
  using Get = const Form &(*)();
  static constexpr Get table[] = {
      &getFormOf<Form, static_cast<KernelForm>(kinds)>...};
  return table[static_cast<size_t>(kind)]();
}

/// Returns the target's code for the form of a kernel.
template <typename Form> const Form &findForm(KernelOp kernel) {
  return findForm<Form>(
      kernel.getFormAttr().getKind(),
      std::make_index_sequence<getMaxEnumValForKernelForm() + 1>());
}

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_KERNELFORMS_H
