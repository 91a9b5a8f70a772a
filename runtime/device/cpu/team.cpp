//===- team.cpp - The threads of a rank -----------------------------------===//

#include "device/cpu/team.h"

#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <unistd.h>

// The ABI of GNU OpenMP's runtime (libgomp.so.1), which gcc -fopenmp targets.
extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace ppopt {

namespace {
struct TeamCall {
  void (*body)(void *context, int member, int size);
  void *context;
};
} // namespace

void limitSpinning(char **argv) {
  for (const char *says : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "LD_PRELOAD"})
    if (std::getenv(says))
      return;
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0)
    return; // costs speed only
  path[length] = '\0';
  ::setenv("GOMP_SPINCOUNT", "5000", /*overwrite=*/0);
  ::execv(path, argv);
}

void runTeam(int threads, void (*body)(void *context, int member, int size),
             void *context) {
  if (threads <= 1)
    return body(context, 0, 1);
  TeamCall call{body, context};
  GOMP_parallel(
      [](void *data) {
        const TeamCall &call = *static_cast<TeamCall *>(data);
        call.body(call.context, omp_get_thread_num(), omp_get_num_threads());
      },
      &call, threads, /*flags=*/0);
}

void setTeamSize(int threads) { omp_set_num_threads(threads); }

int teamSize() { return omp_get_max_threads(); }

} // namespace ppopt
