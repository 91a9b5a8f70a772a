//===- host_at.h - A rank's memory, for tests -----------------------------===//

#ifndef PPOPT_TEST_RUNTIME_HOST_AT_H
#define PPOPT_TEST_RUNTIME_HOST_AT_H

#include "executor/rank.h"

/// Returns where the host finds memory of a rank whose device is the CPU.
inline char *hostAt(const ppopt_rank &rank,
                    ppopt::device::DevicePointer pointer) {
  return rank.device->hostView(pointer);
}
inline char *hostAt(const ppopt_rank &rank,
                    const ppopt::runtime::Address &address) {
  return hostAt(rank, rank.places.at(address));
}

#endif // PPOPT_TEST_RUNTIME_HOST_AT_H
