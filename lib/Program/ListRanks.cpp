//===- ListRanks.cpp - Numbers of ranks in messages and reports -----------===//

#include "ppopt/Program/ListRanks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

std::string mlir::pp::listRanks(llvm::ArrayRef<int64_t> ranks, size_t most) {
  auto join = [](llvm::ArrayRef<int64_t> some) {
    return llvm::join(
        llvm::map_range(some, [](int64_t r) { return std::to_string(r); }),
        ", ");
  };
  if (ranks.size() <= most)
    return join(ranks);
  return join(ranks.take_front(2)) + ", .. " + std::to_string(ranks.back());
}
