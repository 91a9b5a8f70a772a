//===- team.cpp - The threads of a rank -----------------------------------===//

#include "device/cpu/team.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

// The ABI of GNU OpenMP's runtime (libgomp.so.1), which gcc -fopenmp targets.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace ppopt {

//===----------------------------------------------------------------------===//
// The threads of a program
//===----------------------------------------------------------------------===//

bool isLargeStack(std::string_view value) {
  auto skipBlanks = [&] {
    value.remove_prefix(
        std::min(value.find_first_not_of(" \t\n"), value.size()));
  };
  skipBlanks();
  double size = 0; // without a unit of KiB
  size_t digits = 0;
  for (; digits < value.size() && std::isdigit(value[digits]); ++digits)
    size = 10 * size + (value[digits] - '0');
  value.remove_prefix(digits);
  skipBlanks();
  double unit = 1024;
  if (!value.empty()) {
    switch (std::toupper(value[0])) {
    case 'B':
      unit = 1;
      break;
    case 'K':
      break;
    case 'M':
      unit = 1 << 20;
      break;
    case 'G':
      unit = 1 << 30;
      break;
    default:
      return false;
    }
    value.remove_prefix(1);
    skipBlanks();
  }
  return digits > 0 && value.empty() && size * unit >= threadStackBytes;
}

namespace {

constexpr const char *stackVariables[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"};

/// Returns the variable that asks for smaller stacks; null if none does. The
/// library takes the first that it understands.
const char *findSmallStack() {
  for (const char *name : stackVariables)
    if (const char *value = std::getenv(name))
      return isLargeStack(value) ? nullptr : name;
  return nullptr;
}

bool saysHowToWait() {
  return std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT");
}

/// Returns only if that is not possible.
void restart(char **argv) {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0)
    return;
  path[length] = '\0';
  ::execv(path, argv);
}

/// Returns whether threads of GNU OpenMP will have large stacks.
bool settleTeams(char **argv) {
  const char *small = findSmallStack();
  bool spins = !saysHowToWait();
  if (!small && !spins)
    return true;
  if (!std::getenv("LD_PRELOAD")) {
    const std::string before = small ? std::getenv(small) : "";
    if (spins)
      ::setenv("GOMP_SPINCOUNT", "5000", /*overwrite=*/1);
    if (small)
      ::setenv("OMP_STACKSIZE", "8M", /*overwrite=*/1);
    restart(argv);
    if (small)
      ::setenv(small, before.c_str(), /*overwrite=*/1);
  }
  if (small)
    std::fprintf(stderr,
                 "error: %s=%s: the stacks of threads must have 8 MiB: set it "
                 "to 8M, or unset it\n",
                 small, std::getenv(small));
  return !small; // spinning costs speed only
}

/// Sets the stacks of threads that are started from now on, unless the default
/// is larger. GNU OpenMP's have the same if the environment says nothing.
void settleStacks() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (::pthread_getattr_default_np(&attributes) != 0)
    return;
  if (::pthread_attr_getstacksize(&attributes, &bytes) == 0 &&
      bytes < threadStackBytes &&
      ::pthread_attr_setstacksize(&attributes, threadStackBytes) == 0)
    ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

} // namespace

int runMain(char **argv, const std::function<int()> &body) {
  if (!settleTeams(argv))
    return 1;
  settleStacks();
  struct rlimit limit;
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 &&
      limit.rlim_cur >= threadStackBytes) // RLIM_INFINITY is
    return body();
  int status = 1;
  try {
    std::thread([&] { status = body(); }).join();
  } catch (const std::system_error &error) {
    std::fprintf(
        stderr,
        "error: cannot start a thread with a stack of 8 MiB (ulimit -s "
        "is less): %s\n",
        error.what());
  }
  return status;
}

void setTeamSize(int threads) { omp_set_num_threads(threads); }

int teamSize() { return omp_get_max_threads(); }

} // namespace ppopt
