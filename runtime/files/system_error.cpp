//===- system_error.cpp - Why the system refused a call -------------------===//

#include "files/system_error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/resource.h>

namespace ppopt {

void reportFileSizeLimit() { std::signal(SIGXFSZ, SIG_IGN); }

std::string describeError(int error) {
  std::string text = std::strerror(error);
  struct rlimit limit;
  if (error == EFBIG && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY)
    text += ": the limit of file sizes (ulimit -f) is " +
            std::to_string(limit.rlim_cur) + " bytes";
  return text;
}

std::string describeFailure(const char *what) {
  return std::string(what) + ": " + describeError(errno);
}

} // namespace ppopt
