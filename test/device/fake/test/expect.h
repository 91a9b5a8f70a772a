//===- expect.h - What tests expect of programs ---------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_TEST_EXPECT_H
#define PPOPT_TEST_DEVICE_FAKE_TEST_EXPECT_H

#include "fake/test/process.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace ppopt::cuda::fake::test {

/// Of a process that the libraries end.
inline constexpr int faultStatus = 86;

/// Expects errors that match patterns, one per line, and no others.
inline void expectErrors(const Outcome &outcome, int status,
                         const std::vector<std::string> &patterns) {
  EXPECT_EQ(outcome.status, status) << outcome.errors;
  size_t lines = 0;
  for (size_t at = 0;
       (at = outcome.errors.find("error: ", at)) != std::string::npos; ++at)
    ++lines;
  EXPECT_EQ(lines, patterns.size()) << outcome.errors;
  for (const std::string &pattern : patterns)
    EXPECT_TRUE(std::regex_search(outcome.errors,
                                  std::regex("error: fake CUDA: " + pattern)))
        << outcome.errors << "does not match " << pattern;
}

/// Expects that a program returns, and nothing is said.
inline void expectSuccess(const Outcome &outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
}

} // namespace ppopt::cuda::fake::test

#endif // PPOPT_TEST_DEVICE_FAKE_TEST_EXPECT_H
