//===- cpu_check.h - Checks that this machine can run the program ---------===//

#ifndef PPOPT_RUNTIME_APP_CPU_CHECK_H
#define PPOPT_RUNTIME_APP_CPU_CHECK_H

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns the flags of this processor (x86) from /proc/cpuinfo; empty if the
/// system does not list them.
std::vector<std::string> machineFeatures();

/// Returns the features of a plan ("+avx512f"; "-…" is ignored) that the
/// machine lacks, in the compiler's spelling. Checks only instruction sets that
/// Linux lists; the others come with these or do not affect computation.
std::vector<std::string>
missingFeatures(const std::vector<std::string> &planned,
                const std::vector<std::string> &machine);

/// Throws Error if this machine lacks a feature. The one line names the
/// processor that the program was compiled for and the missing features.
void checkMachine(const std::string &cpu,
                  const std::vector<std::string> &features);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_CPU_CHECK_H
