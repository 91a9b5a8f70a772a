//===- printed_output.cpp - Output to the terminal ------------------------===//

#include "base/printed_output.h"

#include "files/system_error.h"

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace ppopt::train {
namespace {

std::atomic<int> lost{0};             ///< errno of the first failure
std::atomic<bool> isErrorLost{false}; ///< whether that was on standard error

std::string describeLoss(int error) {
  return std::string("cannot write to standard ") +
         (isErrorLost ? "error: " : "output: ") + describeError(error);
}

} // namespace

void printOutput(std::string_view text, std::FILE *stream) {
  errno = 0;
  std::fwrite(text.data(), 1, text.size(), stream);
  if (std::fflush(stream) == 0 && !std::ferror(stream))
    return;
  int error = errno, none = 0;
  std::clearerr(stream);
  if (error == EPIPE || !lost.compare_exchange_strong(none, error))
    return;
  isErrorLost = stream == stderr;
  std::string warning = "warning: " + describeLoss(error) +
                        "; printed output is lost, and the run continues\n";
  std::fwrite(warning.data(), 1, warning.size(), stderr);
}

std::string lostOutput() {
  int error = lost.load();
  return error == 0
             ? ""
             : describeLoss(error) + "; the printed output is incomplete";
}

} // namespace ppopt::train
