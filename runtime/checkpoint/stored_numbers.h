//===- stored_numbers.h - Floating-point numbers of files, converted ------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_STORED_NUMBERS_H
#define PPOPT_RUNTIME_CHECKPOINT_STORED_NUMBERS_H

#include "program/program.h"

#include <cstdint>
#include <string>

namespace ppopt::train {

/// Returns whether a file's numbers of `dtype` ("BF16") can be converted to a
/// program's type: both are floating-point types, of the file F64, F32, F16 or
/// BF16.
bool isConvertible(const std::string &dtype, runtime::ElementType type);

/// Converts `count` numbers of a convertible dtype to `type`, to the nearest
/// value (of two, to the even one). `from` may be unaligned, `to` is aligned to
/// its elements. Returns the index of the first finite number that becomes
/// infinite, or `count`.
int64_t convertNumbers(const std::string &dtype, const char *from,
                       int64_t count, runtime::ElementType type, void *to);

/// Returns a number of a convertible dtype. `from` may be unaligned.
double readNumber(const std::string &dtype, const char *from);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_STORED_NUMBERS_H
