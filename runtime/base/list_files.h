//===- list_files.h - The files that paths name ---------------------------===//

#ifndef PPOPT_RUNTIME_BASE_LIST_FILES_H
#define PPOPT_RUNTIME_BASE_LIST_FILES_H

#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// The files at these paths and, recursively, in these folders, as normal
/// paths: sorted, however what was given is ordered. What begins with a dot is
/// left out in folders, and so is what does not end in `extension`, if there is
/// one. Throws Error that begins with `flag` where a path or a file is missing,
/// or a file is there twice.
std::vector<std::string> listFiles(const std::vector<std::string> &paths,
                                   const std::string &flag,
                                   const std::string &extension = "");

/// Whether a folder that is listed so has a file of that path in it.
bool isListed(std::string_view path, const std::string &extension);

/// The paths as a user gave them, the first few: "a, b, c and 2 more".
std::string describePaths(const std::vector<std::string> &paths);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_LIST_FILES_H
