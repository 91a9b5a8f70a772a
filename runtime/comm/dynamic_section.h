//===- dynamic_section.h - What the executable asks of the dynamic linker -===//

#ifndef PPOPT_COMM_DYNAMIC_SECTION_H
#define PPOPT_COMM_DYNAMIC_SECTION_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace ppopt::comm {

struct DynamicSection {
  std::vector<std::string> needed;  ///< libraries, in the order of linking
  std::vector<std::string> runpath; ///< where they are looked for first
  /// Of some needed libraries, the versions of their symbols: GLIBC_2.34.
  std::map<std::string, std::set<std::string>> versions;
};

/// Of the running executable.
DynamicSection readDynamicSection();

} // namespace ppopt::comm

#endif // PPOPT_COMM_DYNAMIC_SECTION_H
