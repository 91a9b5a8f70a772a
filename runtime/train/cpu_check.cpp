//===- cpu_check.cpp - Whether this machine can run the plan --------------===//

#include "train/cpu_check.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unordered_map>

namespace ppopt::train {
namespace {

/// The compiler's names where the kernel's differ by more than '-' for '_'.
const std::unordered_map<std::string, std::string> &kernelNames() {
  static const std::unordered_map<std::string, std::string> names = {
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"sha", "sha_ni"},
      {"lzcnt", "abm"},
      {"rdrnd", "rdrand"},
      {"prfchw", "3dnowprefetch"},
      {"pclmul", "pclmulqdq"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avxvnni", "avx_vnni"},
      {"cx8", "cx8"},
      {"cx16", "cx16"},
      {"sahf", "lahf_lm"},
      {"mwaitx", "mwaitx"},
      {"fsgsbase", "fsgsbase"},
  };
  return names;
}

/// Features of which code for a program's loops and products is made; the
/// others (cache hints, system instructions) never appear in it.
bool isComputing(const std::string &name) {
  static const char *prefixes[] = {
      "sse",   "ssse",  "avx",  "amx",  "fma",     "f16c", "bmi",    "popcnt",
      "lzcnt", "movbe", "vaes", "gfni", "vpclmul", "aes",  "pclmul", "adx"};
  return std::any_of(
      std::begin(prefixes), std::end(prefixes),
      [&](const char *prefix) { return name.rfind(prefix, 0) == 0; });
}

std::string kernelName(const std::string &name) {
  auto found = kernelNames().find(name);
  if (found != kernelNames().end())
    return found->second;
  std::string same = name;
  std::replace(same.begin(), same.end(), '-', '_');
  return same;
}

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
  for (const std::string &feature : planned) {
    if (feature.empty() || feature[0] != '+')
      continue;
    std::string name = feature.substr(1);
    if (isComputing(name) && std::find(machine.begin(), machine.end(),
                                       kernelName(name)) == machine.end())
      missing.push_back(name);
  }
  return missing;
}

void checkMachine(const std::string &cpu,
                  const std::vector<std::string> &features) {
  std::vector<std::string> machine = machineFeatures();
  if (machine.empty())
    return; // not x86, or no /proc: the system will say at the first
            // instruction that it does not know
  std::vector<std::string> missing = missingFeatures(features, machine);
  if (!missing.empty())
    throw runtime::Error(
        "this executable was compiled for the processor '{}'; this "
        "machine's lacks {}: compile it on this machine, or with "
        "ppopt compile --cpu for a processor that all machines have",
        cpu, fmt::join(missing, ", "));
}

} // namespace ppopt::train
