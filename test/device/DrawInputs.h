//===- DrawInputs.h - Random arguments of a kernel ------------------------===//

#ifndef PPOPT_TEST_DEVICE_DRAWINPUTS_H
#define PPOPT_TEST_DEVICE_DRAWINPUTS_H

#include "Emulation.h"
#include "KernelModule.h"

namespace emulated {

/// Returns the contents of an argument. Floats are normal, or uniform in (0.1,
/// 2) if `isPositive` (an optimizer's states are). Flags are 1, or 0 if
/// `isPositive` (an update is skipped, or made). Integers are small; some
/// indices are out of range.
Bytes drawInput(const Operand &operand, const KernelDescription &kernel,
                bool isPositive, uint64_t seed);

/// Returns the contents with each float moved by one rounding of its type, up
/// or down. Integers stay.
Bytes perturbInput(const Operand &operand, Bytes contents, uint64_t seed);

/// Element `i` of a buffer, as the nearest f64.
double readElement(const char *buffer, int64_t i, mlir::Type type);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_DRAWINPUTS_H
