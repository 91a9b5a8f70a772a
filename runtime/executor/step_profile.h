//===- step_profile.h - Where the time of steps goes ----------------------===//
//
// Accumulates times over the steps in which a rank has it: per kernel and
// matmul, and for everything else that the rank's thread does. Recording
// allocates nothing. A rank without a profile pays one branch per launch.
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

/// Everything under one name. Times of different lines do not overlap.
struct ProfileLine {
  enum Kind { kernel, matmul, wait, memory, other } kind;
  std::string name;
  int64_t flopsOfCall = 0, bytesOfCall = 0; ///< of kernels and matmuls
  MatmulType type = MatmulType::f32;        ///< of lines with FLOPs
  int64_t calls = 0;
  int64_t bytes = 0; ///< total of memory lines, whose calls differ
  std::chrono::steady_clock::duration time{};

  void add(std::chrono::steady_clock::duration of) {
    ++calls;
    time += of;
  }
};

/// Adds its own lifetime to a line; does nothing if the line is null.
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

/// The runs of all tasks of a kind, without what they wait. Their time is also
/// part of the lines.
struct ProfiledTasks {
  TaskKind kind = TaskKind::forward;
  int64_t runs = 0;
  std::chrono::steady_clock::duration time{};
};

class StepProfile {
public:
  using Clock = std::chrono::steady_clock;

  /// For a rank that runs these actions.
  StepProfile(const Program &program, const std::vector<Action> &actions);

  ProfileLine &kernel(int64_t number) { return allLines[number]; }
  ProfileLine &matmul(int64_t number) { return allLines[firstMatmul + number]; }
  /// Communication that progresses between launches.
  ProfileLine &progress() { return allLines[firstOther]; }
  /// The selection of samples.
  ProfileLine &samples() { return allLines[firstOther + 1]; }

  /// Records a run, a zero or a wait. The time of a run is without its waits.
  void record(const Action &action, Clock::duration time);
  /// Records a wait inside a run.
  void recordWait(const TaskCollective &collective, Clock::duration time) {
    allLines[waitLines[collective.operation]].add(time);
  }
  /// Records the copy of a chunk to or from the buffer of a task's collective.
  void recordChunk(int64_t bytes, Clock::duration time);
  /// Records the start that did a transfer or a collective of a local launch,
  /// which read and wrote `bytes`.
  void recordMove(const Action &start, int64_t bytes, Clock::duration time);
  void endStep(Clock::duration time) {
    ++stepCount;
    stepTime += time;
  }

  int64_t steps() const { return stepCount; }
  /// Returns the time of all steps, from the selection of samples to the last
  /// action.
  Clock::duration time() const { return stepTime; }
  /// Returns the lines that were called, by descending time. The last line is
  /// the time of the steps that no other line covers.
  std::vector<ProfileLine> lines() const;
  /// Returns the kinds that ran, in the order of the program's tasks.
  std::vector<ProfiledTasks> tasks() const;

private:
  ProfileLine &zeros() { return allLines[firstOther + 2]; }
  ProfileLine &copies() { return allLines[firstOther + 3]; }
  ProfileLine &sums() { return allLines[firstOther + 4]; }
  ProfileLine &chunks() { return allLines[firstOther + 5]; }
  void addWait(int64_t operation, const std::string &name);

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
