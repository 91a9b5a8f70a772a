//===- shard.h - The part of a parameter that a rank's shard has ----------===//
//
// A bucket holds parameters one after the other, with gaps. Where it is sharded
// over a group of n ranks, the member at position p has chunk p of it
// (collective.h): of every optimizer state and of the summed gradient, or of
// the parameters too.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_GEOMETRY_SHARD_H
#define PPOPT_GEOMETRY_SHARD_H

#include "geometry/collective.h"

#include <algorithm>
#include <cstdint>

namespace ppopt::geometry {

/// Elements [begin, end) of a parameter; the first is element `at` of the
/// chunk. Where it has none, begin = end.
struct OwnedElements {
  int64_t begin = 0, end = 0, at = 0;

  int64_t count() const { return end - begin; }
};

/// Returns the elements that the member at `position` of n has of a parameter
/// whose `elements` begin at element `first` of a bucket of `total`.
constexpr OwnedElements ownedElements(int64_t total, int64_t first,
                                      int64_t elements, int64_t n,
                                      int64_t position) {
  int64_t chunk = chunkBegin(total, n, position);
  int64_t next = chunkBegin(total, n, position + 1);
  int64_t begin = std::clamp<int64_t>(chunk - first, 0, elements);
  int64_t end = std::clamp<int64_t>(next - first, begin, elements);
  if (begin == end)
    return {};
  return {begin, end, first + begin - chunk};
}

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_SHARD_H
