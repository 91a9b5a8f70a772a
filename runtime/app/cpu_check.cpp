//===- cpu_check.cpp - Checks that this machine can run the program -------===//

#include "app/cpu_check.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace ppopt::train {
namespace {

/// A feature in the compiler's and in the kernel's spelling.
struct Feature {
  const char *compiler, *kernel;
};

/// The instruction sets that loops and matmuls use, as far as every kernel of
/// recent years lists them.
constexpr Feature kFeatures[] = {
    {"sse", "sse"},
    {"sse2", "sse2"},
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"sse4a", "sse4a"},
    {"popcnt", "popcnt"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"adx", "adx"},
    {"aes", "aes"},
    {"pclmul", "pclmulqdq"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"fma4", "fma4"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"avxvnni", "avx_vnni"},
    {"vaes", "vaes"},
    {"vpclmulqdq", "vpclmulqdq"},
    {"gfni", "gfni"},
    {"avx512f", "avx512f"},
    {"avx512bw", "avx512bw"},
    {"avx512cd", "avx512cd"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512vp2intersect", "avx512_vp2intersect"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
    {"amx-tile", "amx_tile"},
    {"amx-int8", "amx_int8"},
    {"amx-bf16", "amx_bf16"},
};

} // namespace

std::vector<std::string> machineFeatures() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("flags", 0) != 0)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::vector<std::string> features;
    for (std::string word; words >> word;)
      features.push_back(word);
    return features;
  }
  return {};
}

std::vector<std::string>
missingFeatures(const std::vector<std::string> &planned,
                const std::vector<std::string> &machine) {
  std::vector<std::string> missing;
  for (const Feature &feature : kFeatures) {
    std::string asked = std::string("+") + feature.compiler;
    if (std::find(planned.begin(), planned.end(), asked) != planned.end() &&
        std::find(machine.begin(), machine.end(), feature.kernel) ==
            machine.end())
      missing.push_back(feature.compiler);
  }
  return missing;
}

void checkMachine(const std::string &cpu,
                  const std::vector<std::string> &features) {
  std::vector<std::string> machine = machineFeatures();
  if (machine.empty())
    return; // not x86, or no /proc: the first unknown instruction raises
            // SIGILL
  std::vector<std::string> missing = missingFeatures(features, machine);
  if (!missing.empty())
    throw runtime::Error(
        "this executable was compiled for the processor '{}'; this machine "
        "does not offer {}, which its processor lacks or a virtual machine "
        "hides: compile it on this machine, or with ppopt compile --cpu for a "
        "processor that all machines have",
        cpu, fmt::join(missing, ", "));
}

} // namespace ppopt::train
