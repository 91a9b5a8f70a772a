//===- store_values.h - Stores numbers as elements of a type --------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STORE_VALUES_H
#define PPOPT_RUNTIME_EXECUTOR_STORE_VALUES_H

#include "program/program.h"

namespace ppopt::runtime {

/// Stores `count` numbers as `type`. Floating-point types get the nearest
/// value, the even one of two that are as near. `out` is aligned to its
/// elements.
void storeValues(ElementType type, const double *values, int64_t count,
                 void *out);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STORE_VALUES_H
