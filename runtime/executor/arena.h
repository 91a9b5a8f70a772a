//===- arena.h - The one allocation of a rank -----------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_ARENA_H
#define PPOPT_RUNTIME_EXECUTOR_ARENA_H

#include <cstddef>
#include <cstdint>

namespace ppopt::runtime {

/// One anonymous mapping, zero-filled and aligned to a page (so also to
/// PPOPT_ALIGNMENT); huge pages are advised where it is large enough for them.
/// Memory is committed as it is touched.
class Arena {
public:
  /// Throws Error if the system refuses.
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
