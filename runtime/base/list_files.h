//===- list_files.h - Expands paths to files ------------------------------===//

#ifndef PPOPT_RUNTIME_BASE_LIST_FILES_H
#define PPOPT_RUNTIME_BASE_LIST_FILES_H

#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// Returns the files at these paths and, recursively, in these folders, as
/// normalized paths. They are sorted, whatever the order of `paths`. In
/// folders, skips names that begin with a dot and, if `extension` is given,
/// files without it; follows links to files and folders. Throws Error that
/// begins with `flag` if a path is missing, a folder has no files, a link leads
/// nowhere or to a folder that it is in, or a file occurs twice, under whatever
/// names.
std::vector<std::string> listFiles(const std::vector<std::string> &paths,
                                   const std::string &flag,
                                   const std::string &extension = "");

/// Returns whether listing a folder this way includes a file of that path in
/// it.
bool isListed(std::string_view path, const std::string &extension);

/// Returns the first few paths as the user gave them: "a, b, c and 2 more".
std::string describePaths(const std::vector<std::string> &paths);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_LIST_FILES_H
