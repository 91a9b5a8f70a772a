//===- layout.h - Where the elements of a buffer lie ----------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_LAYOUT_H
#define PPOPT_TEST_GPU_KERNELS_LAYOUT_H

#include "bundle.h"

#include <algorithm>
#include <utility>

namespace ppopt::gpu {

/// Returns where an element lies, in elements from the first. `index` counts
/// the elements in row-major order of the sizes.
inline int64_t placeOf(const Buffer &buffer, int64_t index) {
  int64_t place = 0;
  for (size_t i = buffer.sizes.size(); i-- > 0;) {
    place += index % buffer.sizes[i] * buffer.strides[i];
    index /= buffer.sizes[i];
  }
  return place;
}

/// Elements that lie next to each other, from the first to the last in memory:
/// what is between them is padding. If dimensions interleave, all is one run.
class Runs {
public:
  explicit Runs(const Buffer &buffer) {
    for (size_t i = 0; i < buffer.sizes.size(); ++i)
      if (buffer.sizes[i] > 1 && buffer.strides[i] != 0)
        dims.push_back({buffer.strides[i], buffer.sizes[i]});
    std::sort(dims.rbegin(), dims.rend());
    while (!dims.empty() && dims.back().first == length) {
      length *= dims.back().second;
      dims.pop_back();
    }
    int64_t inner = length;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i].first < inner) {
        dims.clear();
        length = buffer.span();
        break;
      }
      inner = (dims[i].second - 1) * dims[i].first + inner;
    }
    for (const auto &[stride, size] : dims)
      count *= size;
  }

  int64_t length = 1, count = 1;

  /// Where a run begins, in elements.
  int64_t begin(int64_t run) const {
    int64_t place = 0;
    for (size_t i = dims.size(); i-- > 0;) {
      place += run % dims[i].second * dims[i].first;
      run /= dims[i].second;
    }
    return place;
  }
  /// Of the runs, without padding.
  int64_t elements() const { return length * count; }

private:
  std::vector<std::pair<int64_t, int64_t>> dims; ///< stride, size
};

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_LAYOUT_H
