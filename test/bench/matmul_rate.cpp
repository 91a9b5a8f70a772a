//===- matmul_rate.cpp - The rate of f32 matmuls of this machine ----------===//
//
// matmul_rate THREADS prints {"gflops": R}: the rate that `--profile` of
// executables holds matmuls against.
//
//===----------------------------------------------------------------------===//

#include "ppopt/machine_rate.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fprintf(stderr, "usage: %s THREADS\n", argv[0]);
    return 2;
  }
  double rate = ppopt::packedMatmulRate(ppopt::MatmulType::f32, threads);
  std::printf("{\"gflops\": %.1f}\n", rate / 1e9);
}
