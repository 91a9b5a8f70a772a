//===- matmul_uses.h - Which matmuls a rank's tasks call ------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_MATMUL_USES_H
#define PPOPT_RUNTIME_EXECUTOR_MATMUL_USES_H

#include "device/matmul_library.h"

#include <cstdint>
#include <map>
#include <tuple>

struct ppopt_rank;

namespace ppopt::runtime {

/// A matmul of the program that the device's library computes, for operands
/// with an alignment.
struct MatmulUse {
  int64_t matmul = 0; ///< index in Program::matmuls
  device::MatmulAlignment alignment;

  bool operator<(const MatmulUse &other) const {
    return std::tie(matmul, alignment) <
           std::tie(other.matmul, other.alignment);
  }
};

/// Calls of each per step; 0: only in evaluations.
using MatmulUses = std::map<MatmulUse, int64_t>;

/// Calls the tasks of this rank's steps and evaluations, and lists the library
/// matmuls that they launch. Nothing runs, and no memory changes. The rank's
/// device has a matmul library.
MatmulUses findMatmulUses(ppopt_rank &rank);

/// Runs each of them once, if the rank's device has a matmul library. Call it
/// while all memory is zero, which it stays.
void runMatmulsOnce(ppopt_rank &rank);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_MATMUL_USES_H
