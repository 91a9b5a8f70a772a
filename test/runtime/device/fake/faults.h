//===- faults.h - Says who touched memory that is not theirs --------------===//
//
// A handler of SIGSEGV. An access by the host to memory of a fake device ends
// the process with a message and the status `faultStatus`. So does an operation
// that touches host memory which is not there. Other faults go to the handler
// that was installed before.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_FAKE_FAULTS_H
#define PPOPT_TEST_FAKE_FAULTS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ppopt::fake {

inline constexpr int faultStatus = 86;

/// The last operations of a device as text that a signal handler can read.
class LastOperations {
public:
  void add(const std::string &line);
  /// Writes the lines to standard error, the oldest first.
  void print() const;

private:
  static constexpr size_t lines = 8, width = 160;
  std::array<std::array<char, width>, lines> text{};
  size_t added = 0;
};

/// Addresses of a device, for as long as this lives.
class GuardedRange {
public:
  /// Installs the handler with the first range. `last` must outlive this. A
  /// negative rank is not named; here and below.
  GuardedRange(int rank, const std::string &what, uintptr_t begin,
               int64_t bytes, const LastOperations &last);
  ~GuardedRange();
  GuardedRange(const GuardedRange &) = delete;
  GuardedRange &operator=(const GuardedRange &) = delete;

private:
  size_t slot;
};

/// What this thread runs, for the message about a fault in it.
class Running {
public:
  Running(int rank, const char *operation);
  ~Running();
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_FAULTS_H
