//===- list_files.cpp - Expands paths to files ----------------------------===//

#include "base/list_files.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace ppopt::train {
namespace {

using runtime::Error;
namespace fs = std::filesystem;

/// Adds the files in a folder. Hidden files and folders (for example of version
/// control) are not data.
void listFolder(const std::string &folder, const std::string &flag,
                const std::string &extension, std::vector<std::string> &files) {
  size_t before = files.size();
  // Normalized paths do not begin with "./".
  size_t cut = folder == "." ? 2 : 0;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    const fs::path &path = entries->path();
    bool hidden = path.filename().native().front() == '.';
    if (hidden && entries->is_directory(error))
      entries.disable_recursion_pending();
    else if (!hidden && entries->is_regular_file(error) &&
             (extension.empty() || path.extension() == extension))
      files.push_back(path.native().substr(cut));
  }
  if (error)
    throw Error("{} {}: cannot list the folder: {}", flag, folder,
                error.message());
  if (files.size() == before)
    throw Error("{} {}: the folder holds no {}files", flag, folder,
                extension.empty() ? "" : extension + " ");
}

/// Removes "./", "a/../" and a trailing slash.
fs::path normal(const std::string &path) {
  fs::path normal = fs::path(path).lexically_normal();
  return normal.has_filename() || !normal.has_relative_path()
             ? normal
             : normal.parent_path();
}

} // namespace

std::vector<std::string> listFiles(const std::vector<std::string> &paths,
                                   const std::string &flag,
                                   const std::string &extension) {
  std::vector<std::string> files;
  for (const std::string &given : paths) {
    fs::path path = normal(given);
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (error || !fs::exists(status))
      throw Error("{} {}: no such file or folder", flag, given);
    if (fs::is_directory(status))
      listFolder(path.native(), flag, extension, files);
    else
      files.push_back(path.native());
  }
  std::sort(files.begin(), files.end());
  auto twice = std::adjacent_find(files.begin(), files.end());
  if (twice != files.end())
    throw Error("{}: {} is given twice, by itself or by a folder that holds it",
                flag, *twice);
  return files;
}

bool isListed(std::string_view path, const std::string &extension) {
  fs::path file(path);
  bool isHidden =
      std::any_of(file.begin(), file.end(), [](const fs::path &name) {
        return name.native().rfind('.', 0) == 0;
      });
  return !isHidden && (extension.empty() || file.extension() == extension);
}

std::string describePaths(const std::vector<std::string> &paths) {
  constexpr size_t kNamed = 3;
  size_t named = std::min(paths.size(), kNamed);
  std::string text =
      fmt::format("{}", fmt::join(paths.begin(), paths.begin() + named, ", "));
  if (paths.size() > named)
    text += fmt::format(" and {} more", paths.size() - named);
  return text;
}

} // namespace ppopt::train
