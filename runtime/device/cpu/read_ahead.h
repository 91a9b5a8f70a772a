//===- read_ahead.h - Prefetches data that is used next -------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_READ_AHEAD_H
#define PPOPT_RUNTIME_DEVICE_CPU_READ_AHEAD_H

#include <cstdint>

namespace ppopt {

/// Prefetches the cache lines of some rows, a share of them in each call of
/// `advance`, so that memory is read while something else is computed.
class ReadAhead {
public:
  ReadAhead() = default;
  /// Prefetches everything within `calls` calls.
  template <typename Element>
  ReadAhead(const Element *data, int64_t rowStride, int64_t rows,
            int64_t length, int64_t calls)
      : at(reinterpret_cast<const char *>(data)),
        stride(rowStride * int64_t(sizeof(Element))), rowsLeft(rows),
        // One more if a row does not begin at a cache line.
        linesOfRow((length * int64_t(sizeof(Element)) + kLine - 1) / kLine + 1),
        share((rows * linesOfRow + calls - 1) / calls) {}

  void advance() {
    for (int64_t i = 0; i < share && rowsLeft > 0; ++i) {
      __builtin_prefetch(at + line * kLine, /*rw=*/0, /*locality=*/2);
      if (++line < linesOfRow)
        continue;
      line = 0;
      at += stride;
      --rowsLeft;
    }
  }

private:
  static constexpr int64_t kLine = 64;
  const char *at = nullptr;
  int64_t stride = 0, rowsLeft = 0, linesOfRow = 0, share = 0, line = 0;
};

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_READ_AHEAD_H
