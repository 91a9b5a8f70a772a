//===- share_by_size.h - Distributes items into shares of similar size ----===//
//
// The compiler predicts what the runtime does, so both call this.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SHARE_BY_SIZE_H
#define PPOPT_SHARE_BY_SIZE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ppopt {

/// Returns the share of each item, in [0, shares). Assigns the largest items
/// first, each to the share with the least total size so far.
inline std::vector<size_t> shareBySize(const std::vector<int64_t> &sizes,
                                       size_t shares) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  });
  std::vector<int64_t> weights(shares, 0);
  std::vector<size_t> share(sizes.size());
  for (size_t thing : order) {
    auto least = std::min_element(weights.begin(), weights.end());
    *least += sizes[thing];
    share[thing] = static_cast<size_t>(least - weights.begin());
  }
  return share;
}

} // namespace ppopt

#endif // PPOPT_SHARE_BY_SIZE_H
