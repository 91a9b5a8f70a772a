//===- TemporaryPlan.h - Offsets of values by their lifetimes ----*- C++
//-*-===//

#ifndef PPOPT_LIB_CONVERSION_TEMPORARYPLAN_H
#define PPOPT_LIB_CONVERSION_TEMPORARYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mlir::pp {

/// A value that needs memory from the op that makes it to its last reader,
/// both included.
struct Lifetime {
  int64_t bytes; ///< a multiple of the buffers' alignment
  unsigned first, last;
  int64_t offset = 0; ///< the answer
};

/// Sets offsets so that no two lifetimes share a byte at one time: the largest
/// first, each in the tightest gap. Returns the bytes of all.
int64_t planOffsets(llvm::MutableArrayRef<Lifetime> lifetimes);

} // namespace mlir::pp

#endif // PPOPT_LIB_CONVERSION_TEMPORARYPLAN_H
