//===- byte_handover.h - Passes bytes from one thread to another ----------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_BYTE_HANDOVER_H
#define PPOPT_RUNTIME_CHECKPOINT_BYTE_HANDOVER_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace ppopt::train {

/// One thread gives pieces of bytes, the other takes them in the same order.
/// Nothing is copied: a piece is given until it was used.
class ByteHandover {
public:
  /// Begins anew. Neither thread is in a call.
  void open();

  /// Returns when the other thread has used the piece, or takes no more. Calls
  /// `check` now and then; if it throws, the other thread may still use the
  /// bytes.
  void give(const char *data, int64_t bytes,
            const std::function<void()> &check);

  /// Calls `use(data, bytes)` for the next pieces, which have `bytes` bytes
  /// together. Calls `check` now and then while it waits; it may throw.
  void take(int64_t bytes,
            const std::function<void(const char *data, int64_t bytes)> &use,
            const std::function<void()> &check);

  /// Called by the thread that takes, instead of its next take: gives return
  /// at once from now on.
  void refuse();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const char *data_ = nullptr; ///< null: no piece is given
  int64_t bytes_ = 0;
  bool refused_ = false;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_BYTE_HANDOVER_H
