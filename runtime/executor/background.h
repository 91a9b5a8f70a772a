//===- background.h - What goes on beside a rank's tasks ------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_BACKGROUND_H
#define PPOPT_RUNTIME_EXECUTOR_BACKGROUND_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ppopt::runtime {

/// What a rank's own thread does in pieces, between and inside launches and
/// while it waits.
class BackgroundWork {
public:
  virtual ~BackgroundWork() = default;
  /// Does what can be done now, without blocking. Is cheap: it may do nothing
  /// if it was just called. Throws RankFailure if a rank has failed.
  virtual void progress() = 0;
  /// The same, for a thread that blocks after it: it leaves nothing undone.
  virtual void progressBeforeBlocking() { progress(); }
  /// Returns whether it needs to progress inside a launch that begins now.
  virtual bool isPending() const = 0;
  /// Returns the bytes that it has sent by the rank's transport and that are no
  /// part of steps.
  virtual uint64_t bytesBesideSteps() const { return 0; }
};

/// The work of one rank. Each adds itself, and removes itself before its end.
class Background {
public:
  void add(BackgroundWork &work) { list.push_back(&work); }
  void remove(BackgroundWork &work) {
    list.erase(std::remove(list.begin(), list.end(), &work), list.end());
  }

  bool isEmpty() const { return list.empty(); }
  void progress() const {
    for (BackgroundWork *each : list)
      each->progress();
  }
  /// For a member of the list that blocks.
  void progressOthersBeforeBlocking(const BackgroundWork &waiting) const {
    for (BackgroundWork *each : list)
      if (each != &waiting)
        each->progressBeforeBlocking();
  }
  bool isPending() const {
    return std::any_of(list.begin(), list.end(),
                       [](auto *each) { return each->isPending(); });
  }
  uint64_t bytesBesideSteps() const {
    uint64_t bytes = 0;
    for (BackgroundWork *each : list)
      bytes += each->bytesBesideSteps();
    return bytes;
  }

private:
  std::vector<BackgroundWork *> list;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_BACKGROUND_H
