//===- cpu_check.h - Whether this machine can run the plan ----------------===//

#ifndef PPOPT_RUNTIME_APP_CPU_CHECK_H
#define PPOPT_RUNTIME_APP_CPU_CHECK_H

#include <string>
#include <vector>

namespace ppopt::train {

/// The words that /proc/cpuinfo lists as this processor's flags (x86).
/// Empty where the system does not say.
std::vector<std::string> machineFeatures();

/// Those of a plan's features ("+avx512f"; "-…" asks for nothing) that are not
/// among the machine's, in the compiler's words. Looks only at instruction sets
/// that Linux lists: the rest come with them or are no computation.
std::vector<std::string>
missingFeatures(const std::vector<std::string> &planned,
                const std::vector<std::string> &machine);

/// Throws Error, one line with the processor that the program was compiled for
/// and what this one lacks.
void checkMachine(const std::string &cpu,
                  const std::vector<std::string> &features);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_CPU_CHECK_H
