//===- TemporaryPlan.cpp - Offsets of values by their lifetimes -----------===//

#include "TemporaryPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir::pp;

/// The tightest gap between `placed`, which are sorted by offset.
static int64_t findGap(llvm::ArrayRef<const Lifetime *> placed, int64_t bytes) {
  int64_t best = -1, bestSize = std::numeric_limits<int64_t>::max(), end = 0;
  for (const Lifetime *other : placed) {
    int64_t size = other->offset - end;
    if (size >= bytes && size < bestSize) {
      best = end;
      bestSize = size;
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best >= 0 ? best : end;
}

int64_t mlir::pp::planOffsets(llvm::MutableArrayRef<Lifetime> lifetimes) {
  auto order = llvm::to_vector(
      llvm::map_range(lifetimes, [](Lifetime &lifetime) { return &lifetime; }));
  llvm::sort(order, [](const Lifetime *a, const Lifetime *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  int64_t total = 0;
  llvm::SmallVector<const Lifetime *> done, overlapping;
  for (Lifetime *next : order) {
    overlapping.clear();
    for (const Lifetime *other : done)
      if (other->first <= next->last && next->first <= other->last)
        overlapping.push_back(other);
    llvm::sort(overlapping, [](const Lifetime *a, const Lifetime *b) {
      return a->offset < b->offset;
    });
    next->offset = findGap(overlapping, next->bytes);
    total = std::max(total, next->offset + next->bytes);
    done.push_back(next);
  }
  return total;
}
