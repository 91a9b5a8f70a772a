//===- process.h - Programs that run on the fake libraries ----------------===//
//
// The libraries read their settings once, so each program is a process.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_TEST_PROCESS_H
#define PPOPT_TEST_DEVICE_FAKE_TEST_PROCESS_H

#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ppopt::cuda::fake::test {

/// How a process ended.
struct Outcome {
  int status = -1; ///< its exit status, or minus the signal
  std::string errors;
};

using Variables = std::map<std::string, std::string>;

/// Runs a program in a process with additional environment variables. It ends
/// with status 0 if the program returns, and 1 if a check fails.
Outcome run(const Variables &variables, const std::function<void()> &program);

/// Runs programs at the same time, each in a process of its own.
std::vector<Outcome> runAll(const Variables &variables,
                            const std::vector<std::function<void()>> &programs);

/// Ends the process, with a message.
[[noreturn]] void failCheck(const std::string &message);

template <typename... Args>
void check(bool isRight, fmt::format_string<Args...> format, Args &&...args) {
  if (!isRight)
    failCheck(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace ppopt::cuda::fake::test

#endif // PPOPT_TEST_DEVICE_FAKE_TEST_PROCESS_H
