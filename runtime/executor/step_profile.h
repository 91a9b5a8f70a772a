//===- step_profile.h - Where the time of steps went ----------------------===//
//
// Sums times over the steps for which it is given to a rank: for each kernel
// and matmul, and for what a rank's thread does besides. Recording allocates
// nothing; a rank without a profile pays a branch at each launch.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STEP_PROFILE_H
#define PPOPT_RUNTIME_EXECUTOR_STEP_PROFILE_H

#include "program/program.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::runtime {

/// Everything of one name. Times of different lines do not overlap.
struct ProfileLine {
  enum Kind { kernel, matmul, wait, memory, other } kind;
  std::string name;
  int64_t flopsOfCall = 0, bytesOfCall = 0; ///< of kernels and matmuls
  MatmulType type = MatmulType::f32;        ///< of what has FLOPs
  int64_t calls = 0;
  int64_t bytes = 0; ///< of memory's calls, which differ
  std::chrono::steady_clock::duration time{};

  void add(std::chrono::steady_clock::duration of) {
    ++calls;
    time += of;
  }
};

/// Adds its own life to a line; does nothing where that is null.
class LineTimer {
public:
  explicit LineTimer(ProfileLine *line) : line(line) {
    if (line)
      begin = std::chrono::steady_clock::now();
  }
  ~LineTimer() {
    if (line)
      line->add(std::chrono::steady_clock::now() - begin);
  }
  LineTimer(const LineTimer &) = delete;
  LineTimer &operator=(const LineTimer &) = delete;

private:
  ProfileLine *const line;
  std::chrono::steady_clock::time_point begin;
};

/// The runs of tasks of a kind, whose time is in the lines too.
struct ProfiledTasks {
  std::string kind;
  int64_t runs = 0;
  std::chrono::steady_clock::duration time{};
};

class StepProfile {
public:
  using Clock = std::chrono::steady_clock;

  /// Of a rank that runs these actions.
  StepProfile(const Program &program, const std::vector<Action> &actions);

  ProfileLine &kernel(int64_t number) { return allLines[number]; }
  ProfileLine &matmul(int64_t number) { return allLines[firstMatmul + number]; }
  /// Communication that goes on between launches.
  ProfileLine &progress() { return allLines[firstOther]; }
  /// The choice of samples.
  ProfileLine &samples() { return allLines[firstOther + 1]; }

  /// Of a run, zero, wait, copy or sum.
  void record(const Action &action, Clock::duration time);
  void endStep(Clock::duration time) {
    ++stepCount;
    stepTime += time;
  }

  int64_t steps() const { return stepCount; }
  /// Of all steps, from the choice of samples to the last action.
  Clock::duration time() const { return stepTime; }
  /// Those that were called, the one with most time first; last the time of the
  /// steps that no other line has.
  std::vector<ProfileLine> lines() const;
  /// Those that ran, in the order of the program's tasks.
  std::vector<ProfiledTasks> tasks() const;

private:
  ProfileLine &zeros() { return allLines[firstOther + 2]; }
  ProfileLine &copies() { return allLines[firstOther + 3]; }
  ProfileLine &sums() { return allLines[firstOther + 4]; }
  void addWait(const Program &program, const Action &start);

  std::vector<ProfileLine> allLines;
  size_t firstMatmul, firstOther;
  std::vector<size_t> waitLines; ///< by operation
  std::vector<ProfiledTasks> taskKinds;
  std::vector<size_t> kindOfTask; ///< index of taskKinds, by task
  int64_t stepCount = 0;
  Clock::duration stepTime{};
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STEP_PROFILE_H
