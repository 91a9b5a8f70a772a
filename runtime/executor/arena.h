//===- arena.h - The memory of a place on a rank --------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_ARENA_H
#define PPOPT_RUNTIME_EXECUTOR_ARENA_H

#include <cstddef>
#include <cstdint>

namespace ppopt::runtime {

/// One anonymous mapping, zero-filled and page-aligned (so also aligned to
/// PPOPT_ALIGNMENT). Requests huge pages if it is large enough for them. The
/// system commits memory on first touch.
class Arena {
public:
  /// Throws Error if the mapping fails.
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  char *base() const { return base_; }
  int64_t bytes() const { return bytes_; }

private:
  char *base_ = nullptr;
  int64_t bytes_ = 0;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_ARENA_H
