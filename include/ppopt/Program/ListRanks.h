//===- ListRanks.h - Numbers of ranks in messages and reports -------------===//

#ifndef PPOPT_PROGRAM_LISTRANKS_H
#define PPOPT_PROGRAM_LISTRANKS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>

namespace mlir::pp {

/// Returns "1, 3", or of more than `most` ranks, "0, 1, .. 127".
std::string listRanks(llvm::ArrayRef<int64_t> ranks, size_t most);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_LISTRANKS_H
