//===- share_by_size.h - Distributes items into shares of similar size ----===//

#ifndef PPOPT_RUNTIME_SCHEMA_SHARE_BY_SIZE_H
#define PPOPT_RUNTIME_SCHEMA_SHARE_BY_SIZE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ppopt::schema {

/// An item, and the shares that may get it (at least one).
struct SizedItem {
  int64_t size;
  std::vector<int64_t> shares;
};

/// Returns the share of each item, in [0, shares). Assigns those first that the
/// fewest shares may get, the largest of them first, each to the share with the
/// least total size so far.
inline std::vector<int64_t> assignBySize(const std::vector<SizedItem> &items,
                                         int64_t shares) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    size_t choices = items[a].shares.size(), others = items[b].shares.size();
    return choices != others ? choices < others : items[a].size > items[b].size;
  });
  std::vector<int64_t> totals(size_t(shares), 0), share(items.size());
  for (size_t item : order) {
    const std::vector<int64_t> &may = items[item].shares;
    share[item] =
        *std::min_element(may.begin(), may.end(), [&](int64_t a, int64_t b) {
          return totals[a] != totals[b] ? totals[a] < totals[b] : a < b;
        });
    totals[share[item]] += items[item].size;
  }
  return share;
}

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_SHARE_BY_SIZE_H
