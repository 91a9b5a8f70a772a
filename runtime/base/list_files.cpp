//===- list_files.cpp - Expands paths to files ----------------------------===//

#include "base/list_files.h"

#include "base/error.h"
#include "files/system_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <utility>

namespace ppopt::train {
namespace {

using runtime::Error;
namespace fs = std::filesystem;

/// Identifies a file or folder, whatever the path to it.
using Identity = std::pair<dev_t, ino_t>;

Identity identify(const struct stat &status) {
  return {status.st_dev, status.st_ino};
}

/// Finds files at paths and in folders, through links.
class Search {
public:
  Search(const std::string &flag, const std::string &extension)
      : flag_(flag), extension_(extension) {}

  /// Adds what the user named.
  void addGiven(const std::string &given, const fs::path &path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0)
      throw Error("{} {}: {}", flag_, given,
                  isMissing(errno) ? "no such file or folder"
                                   : describeFailure("cannot look at it"));
    if (!S_ISDIR(status.st_mode))
      return add(path, status);
    size_t before = files_.size();
    addFolder(path, status);
    if (files_.size() == before)
      throw Error("{} {}: the folder holds no {}files", flag_, given,
                  extension_.empty() ? "" : extension_ + " ");
  }

  std::vector<std::string> finish() {
    std::sort(files_.begin(), files_.end());
    return std::move(files_);
  }

private:
  static bool isMissing(int error) {
    return error == ENOENT || error == ENOTDIR;
  }

  void add(const fs::path &path, const struct stat &status) {
    auto [found, isNew] = found_.emplace(identify(status), path.native());
    if (isNew)
      return files_.push_back(path.native());
    if (found->second == path.native())
      throw Error("{}: {} is given twice, by itself or by a folder that holds "
                  "it",
                  flag_, found->second);
    auto [first, second] = std::minmax(found->second, path.native());
    throw Error("{}: {} and {} are the same file, by a link or a second name, "
                "and would be read twice; leave one of them out",
                flag_, first, second);
  }

  /// Adds the files in a folder. Hidden files and folders (for example of
  /// version control) are not data.
  void addFolder(const fs::path &folder, const struct stat &status) {
    auto outer = std::find(open_.begin(), open_.end(), identify(status));
    if (outer != open_.end())
      throw Error("{}: {} is a link to a folder that it is in, whose files "
                  "would be read again and again; remove the link",
                  flag_, folder.native());
    open_.push_back(identify(status));
    std::error_code error;
    fs::directory_iterator entries(folder, error), end;
    for (; !error && entries != end; entries.increment(error))
      if (entries->path().filename().native().front() != '.')
        // Normalized paths do not begin with "./".
        addEntry(folder == "." ? entries->path().filename() : entries->path());
    if (error)
      throw Error("{} {}: cannot list the folder: {}", flag_, folder.native(),
                  error.message());
    open_.pop_back();
  }

  void addEntry(const fs::path &path) {
    struct stat status;
    bool isTaken = extension_.empty() || path.extension() == extension_;
    if (::stat(path.c_str(), &status) != 0) {
      // Its name may be that of a folder.
      if (isTaken || !path.has_extension())
        throw Error("{}: {}: {}", flag_, path.native(), describeLost(path));
    } else if (S_ISDIR(status.st_mode)) {
      addFolder(path, status);
    } else if (isTaken && S_ISREG(status.st_mode)) {
      add(path, status);
    }
  }

  /// Returns why there is nothing at a path that a folder lists.
  static std::string describeLost(const fs::path &path) {
    std::string why = describeFailure("cannot look at it");
    std::error_code error;
    fs::path target = fs::read_symlink(path, error);
    return error ? why
                 : fmt::format("is a link to {}, which leads nowhere: make it "
                               "lead to a file, or remove it",
                               target.native());
  }

  const std::string &flag_, &extension_;
  std::vector<std::string> files_;
  std::map<Identity, std::string> found_;
  std::vector<Identity> open_; ///< the folders that are being listed
};

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
  Search search(flag, extension);
  for (const std::string &given : paths)
    search.addGiven(given, normal(given));
  return search.finish();
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
