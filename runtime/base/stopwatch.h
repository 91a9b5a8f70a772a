//===- stopwatch.h - Measures elapsed time --------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_STOPWATCH_H
#define PPOPT_RUNTIME_BASE_STOPWATCH_H

#include <chrono>

namespace ppopt::train {

/// Starts when it is constructed.
class Stopwatch {
public:
  using Clock = std::chrono::steady_clock;

  Clock::duration elapsed() const { return Clock::now() - start_; }
  double seconds() const {
    return std::chrono::duration<double>(elapsed()).count();
  }
  double milliseconds() const { return 1e3 * seconds(); }

private:
  Clock::time_point start_ = Clock::now();
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_STOPWATCH_H
