//===- dynamic_section.h - The executable's dynamic linking ---------------===//

#ifndef PPOPT_COMM_DYNAMIC_SECTION_H
#define PPOPT_COMM_DYNAMIC_SECTION_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ppopt::comm {

struct DynamicSection {
  std::vector<std::string> needed;  ///< libraries, in link order
  std::vector<std::string> runpath; ///< folders that are searched first
  /// The symbol versions needed of some libraries: GLIBC_2.34.
  std::map<std::string, std::set<std::string>> versions;
};

/// Reads the dynamic section of the running executable.
DynamicSection readDynamicSection();

} // namespace ppopt::comm

#endif // PPOPT_COMM_DYNAMIC_SECTION_H
