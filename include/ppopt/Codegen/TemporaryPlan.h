//===- TemporaryPlan.h - Offsets of values by their lifetimes -------------===//

#ifndef PPOPT_CODEGEN_TEMPORARYPLAN_H
#define PPOPT_CODEGEN_TEMPORARYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>

namespace mlir::pp {

/// A value that needs memory from the op that makes it to its last reader,
/// inclusive.
struct Lifetime {
  int64_t bytes; ///< a multiple of the buffers' alignment
  unsigned first, last;
  const void *type = nullptr; ///< of its elements
  // The result: an offset in the shared memory, or in a hole.
  int64_t offset = 0;
  std::optional<unsigned> hole = std::nullopt;
};

/// Other memory, of elements of one type, that is free from one op to another,
/// inclusive.
struct Hole {
  int64_t bytes;
  unsigned first, last;
  const void *type = nullptr;
};

/// Sets offsets so that no two lifetimes share a byte at one time: the largest
/// first, each in the tightest gap. A lifetime goes into the smallest hole with
/// room for it if the shared memory, at the size needed by those that fit in no
/// hole, has no room. Returns the bytes of the shared memory.
int64_t planOffsets(llvm::MutableArrayRef<Lifetime> lifetimes,
                    llvm::ArrayRef<Hole> holes = {});

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_TEMPORARYPLAN_H
