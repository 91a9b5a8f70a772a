//===- progress_hook.h - Communication inside long operations -------------===//
//
// Devices that run an operation on the caller's thread call the hook there,
// between parts of it, so that messages in flight need not wait for its end.
// Other threads have no hook.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_PROGRESS_HOOK_H
#define PPOPT_RUNTIME_DEVICE_PROGRESS_HOOK_H

namespace ppopt::device {

class ProgressHook {
public:
  virtual ~ProgressHook() = default;
  /// Does not call the device, and costs little if it was just called.
  virtual void progress() noexcept = 0;
};

/// Of this thread; null if nothing is in flight.
inline thread_local ProgressHook *progressHook = nullptr;

inline void callProgressHook() {
  if (progressHook)
    progressHook->progress();
}

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_PROGRESS_HOOK_H
