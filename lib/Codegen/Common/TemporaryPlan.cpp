//===- TemporaryPlan.cpp - Offsets of values by their lifetimes -----------===//

#include "ppopt/Codegen/TemporaryPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <limits>

using namespace mlir::pp;

namespace {

/// Memory that lifetimes share.
class SharedMemory {
public:
  /// Returns the offset of the tightest gap that `next` fits in during its
  /// life; after all others if there is none.
  int64_t find(const Lifetime &next) const;
  void add(const Lifetime &placed) {
    lifetimes.push_back(&placed);
    end = std::max(end, placed.offset + placed.bytes);
  }
  int64_t getEnd() const { return end; }

private:
  llvm::SmallVector<const Lifetime *> lifetimes;
  int64_t end = 0;
};

} // namespace

int64_t SharedMemory::find(const Lifetime &next) const {
  llvm::SmallVector<const Lifetime *> overlapping;
  for (const Lifetime *other : lifetimes)
    if (other->first <= next.last && next.first <= other->last)
      overlapping.push_back(other);
  llvm::sort(overlapping, [](const Lifetime *a, const Lifetime *b) {
    return a->offset < b->offset;
  });
  int64_t best = -1, bestSize = std::numeric_limits<int64_t>::max(), end = 0;
  for (const Lifetime *other : overlapping) {
    int64_t size = other->offset - end;
    if (size >= next.bytes && size < bestSize) {
      best = end;
      bestSize = size;
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best >= 0 ? best : end;
}

int64_t mlir::pp::planOffsets(llvm::MutableArrayRef<Lifetime> lifetimes,
                              llvm::ArrayRef<Hole> holes) {
  auto order = llvm::to_vector(
      llvm::map_range(lifetimes, [](Lifetime &lifetime) { return &lifetime; }));
  llvm::sort(order, [](const Lifetime *a, const Lifetime *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });
  // Smallest first.
  auto bySize = llvm::to_vector(llvm::seq<unsigned>(0, holes.size()));
  llvm::sort(bySize, [&](unsigned a, unsigned b) {
    return std::make_pair(holes[a].bytes, a) <
           std::make_pair(holes[b].bytes, b);
  });
  auto fits = [&](const Lifetime &next, unsigned hole) {
    return next.type == holes[hole].type && next.bytes <= holes[hole].bytes &&
           holes[hole].first <= next.first && next.last <= holes[hole].last;
  };
  SharedMemory own;
  auto addToOwn = [&](Lifetime &next) {
    next.offset = own.find(next);
    own.add(next);
  };
  llvm::SmallVector<Lifetime *> movable;
  for (Lifetime *next : order) {
    bool isMovable =
        llvm::any_of(bySize, [&](unsigned hole) { return fits(*next, hole); });
    if (isMovable)
      movable.push_back(next);
    else
      addToOwn(*next);
  }
  llvm::SmallVector<SharedMemory> inHoles(holes.size());
  for (Lifetime *next : movable) {
    bool grows = own.find(*next) + next->bytes > own.getEnd();
    for (unsigned hole : bySize) {
      if (!grows || next->hole || !fits(*next, hole))
        continue;
      int64_t offset = inHoles[hole].find(*next);
      if (offset + next->bytes > holes[hole].bytes)
        continue;
      next->offset = offset;
      next->hole = hole;
      inHoles[hole].add(*next);
    }
    if (!next->hole)
      addToOwn(*next);
  }
  return own.getEnd();
}
