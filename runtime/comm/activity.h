//===- activity.h - What a rank is doing, for the watch -------------------===//
//
// A rank's own thread publishes its state with a few plain stores. The watch
// (watch.h) reads it from another thread, at any moment. Nothing blocks, and a
// step allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_ACTIVITY_H
#define PPOPT_COMM_ACTIVITY_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace ppopt::comm {

class Activity {
public:
  enum class Part : int32_t {
    Starting,
    Step,
    Evaluation,
    Average,
    Between,
    Ending
  };
  enum class WaitsIn : int32_t { Nothing, Operation, Message, Barrier, End };
  static constexpr int anyRank = -1; ///< the rank waited for is unknown

  /// What the rank was doing at one moment.
  struct State {
    Part part;
    int64_t step;   ///< from 1: the running step, or the last one
    int32_t action; ///< index in the list of the step or evaluation; or -1
    WaitsIn waitsIn;
    int32_t operation; ///< the operation of Channels that it waits in
    int32_t waitsFor;  ///< a rank, or anyRank
    double waited;     ///< seconds; 0 if it does not wait
  };
  using Describe = std::function<std::string(const State &)>;

  // Called by the rank's own thread.
  void enter(Part next, int64_t steps) {
    set(action, -1);
    set(step, steps);
    set(part, next);
  }
  void enterAction(int64_t index) { set(action, static_cast<int32_t>(index)); }

  /// The scope of a wait. Reads the clock in the first call of on().
  class Wait {
  public:
    explicit Wait(Activity &of) : of(of) {}
    ~Wait() {
      if (begun)
        of.waitBegan.store(0, std::memory_order_release);
    }
    Wait(const Wait &) = delete;
    Wait &operator=(const Wait &) = delete;

    void on(WaitsIn what, int32_t operation, int32_t rank) {
      of.set(of.waitsFor, rank);
      if (begun)
        return;
      begun = true;
      of.set(of.waitsIn, what);
      of.set(of.operation, operation);
      of.waitBegan.store(now(), std::memory_order_release);
    }

  private:
    Activity &of;
    bool begun = false;
  };

  /// Sets how long a wait may take, in seconds; 0: no limit.
  void setTimeout(double seconds) { set(timeoutSeconds, seconds); }
  double timeout() const {
    return timeoutSeconds.load(std::memory_order_relaxed);
  }

  /// Sets the function that describes in words what the rank is doing, or null.
  /// The watch calls it from another thread.
  void setDescriber(Describe newDescriber) {
    std::lock_guard<std::mutex> guard(lock);
    describer = std::move(newDescriber);
  }

  // Called by the watch.
  State read() const;
  std::string describe(const State &state) const;

private:
  static int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
  template <typename T> static void set(std::atomic<T> &to, T value) {
    to.store(value, std::memory_order_relaxed);
  }

  std::atomic<Part> part{Part::Starting};
  std::atomic<int64_t> step{0};
  std::atomic<int32_t> action{-1};
  std::atomic<WaitsIn> waitsIn{WaitsIn::Nothing};
  std::atomic<int32_t> operation{-1};
  std::atomic<int32_t> waitsFor{anyRank};
  std::atomic<int64_t> waitBegan{0}; ///< time of the clock; 0: does not wait
  std::atomic<double> timeoutSeconds{0};
  mutable std::mutex lock; ///< guards the describer
  Describe describer;
};

/// Describes what part of the run the rank is in: "step 12".
std::string describePart(const Activity::State &state);
/// Describes the wait: "waits 10.1 s for rank 1", "waits 3.0 s". Empty if the
/// rank does not wait.
std::string describeWait(const Activity::State &state);

} // namespace ppopt::comm

#endif // PPOPT_COMM_ACTIVITY_H
