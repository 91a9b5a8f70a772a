//===- TemporaryPlan.h - Offsets of values by their lifetimes -------------===//

#ifndef PPOPT_CODEGEN_TEMPORARYPLAN_H
#define PPOPT_CODEGEN_TEMPORARYPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>

namespace mlir::pp {

/// A value that needs memory from the op that makes it to its last reader,
/// both included.
struct Lifetime {
  int64_t bytes; ///< a multiple of the buffers' alignment
  unsigned first, last;
  const void *type = nullptr; ///< of its elements
  // The answer: an offset in the memory of all, or in a hole.
  int64_t offset = 0;
  std::optional<unsigned> hole = std::nullopt;
};

/// Other memory, of elements of one type, that is free from one op to another,
/// both included.
struct Hole {
  int64_t bytes;
  unsigned first, last;
  const void *type = nullptr;
};

/// Sets offsets so that no two lifetimes share a byte at one time: the largest
/// first, each in the tightest gap. One goes into the smallest hole that has
/// room for it where the memory of all, as large as those need that fit in no
/// hole, has none. Returns the bytes of that memory.
int64_t planOffsets(llvm::MutableArrayRef<Lifetime> lifetimes,
                    llvm::ArrayRef<Hole> holes = {});

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_TEMPORARYPLAN_H
