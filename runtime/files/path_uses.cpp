//===- path_uses.cpp - Paths that a command reads and writes --------------===//

#include "files/path_uses.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fs = std::filesystem;
using namespace ppopt;

namespace {

constexpr int kMostLinks = 40; // Linux's limit

/// Returns the path with links and ".." resolved. The file may be missing: a
/// link may lead to a file that is still to be created.
fs::path resolve(const fs::path &path, int links = 0) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  fs::path real = fs::canonical(whole, error);
  if (!error)
    return real;
  if (!whole.has_filename()) // ends with a slash
    whole = whole.parent_path();
  if (fs::is_symlink(fs::symlink_status(whole, error)) && links < kMostLinks)
    return resolve(whole.parent_path() / fs::read_symlink(whole, error),
                   links + 1);
  if (!whole.has_relative_path())
    return whole;
  return (resolve(whole.parent_path(), links) / whole.filename())
      .lexically_normal();
}

} // namespace

PathUses::Use PathUses::identify(Kind kind, bool isWritten,
                                 const std::string &name,
                                 const std::string &path) {
  Use use{kind, isWritten, name, path};
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    use.isThere = true;
    use.isSpecial = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    use.device = status.st_dev;
    use.inode = status.st_ino;
  }
  // There are many found files, and all exist.
  if (kind != Kind::Found)
    use.real = resolve(path).string();
  return use;
}

void PathUses::reads(const std::string &name, const std::string &path,
                     InFolder takes) {
  std::error_code error;
  bool isFolder = fs::is_directory(path, error);
  Use use = identify(isFolder ? Kind::Folder : Kind::File, false, name, path);
  use.takes = std::move(takes);
  uses_.push_back(std::move(use));
}

void PathUses::readsFound(const std::string &name, const std::string &path) {
  uses_.push_back(identify(Kind::Found, false, name, path));
}

void PathUses::writes(const std::string &name, const std::string &path) {
  uses_.push_back(identify(Kind::File, true, name, path));
}

void PathUses::writesFolder(const std::string &name, const std::string &path,
                            const std::string &example, InFolder takes) {
  Use use = identify(Kind::Folder, true, name, path);
  use.takes = std::move(takes);
  use.example = example;
  uses_.push_back(std::move(use));
}

void PathUses::addStream(bool isWritten, const char *name, int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return;
  Use use{Kind::Stream, isWritten, name, ""};
  use.isThere = true;
  use.device = status.st_dev;
  use.inode = status.st_ino;
  uses_.push_back(std::move(use));
}

void PathUses::readsInput() {
  addStream(false, "standard input", STDIN_FILENO);
}

void PathUses::writesOutput() {
  addStream(true, "standard output", STDOUT_FILENO);
  addStream(true, "standard error", STDERR_FILENO);
}

bool PathUses::isSame(const Use &a, const Use &b) {
  if (a.isThere != b.isThere || a.isSpecial || b.isSpecial)
    return false;
  return a.isThere ? a.device == b.device && a.inode == b.inode
                   : a.real == b.real;
}

/// Returns whether `folder` takes `inner`, or `example` in it if `inner` is a
/// folder.
bool PathUses::isInside(const Use &inner, const Use &folder,
                        std::string_view example) {
  if (inner.real.empty() || inner.isSpecial)
    return false;
  fs::path whole(inner.real);
  if (!example.empty())
    whole /= example;
  std::string path = whole.lexically_relative(folder.real).string();
  if (path.empty() || path == "." || path == ".." || path.rfind("../", 0) == 0)
    return false;
  return !folder.takes || folder.takes(path);
}

/// Returns a one-line error if `written` is the same as `other` or inside it.
std::string PathUses::compare(const Use &written, const Use &other) {
  bool areStreams = written.kind == Kind::Stream && other.kind == Kind::Stream;
  bool areFolders = written.kind == Kind::Folder && other.kind == Kind::Folder;
  if (!areStreams && !areFolders && isSame(written, other)) {
    std::string both =
        written.show() + " and " + other.show() + " are the same file";
    return other.isWritten
               ? both + ", and both would be written to it; give each its own"
               : both + ", and " + written.name +
                     " would overwrite it; write to another file";
  }
  if (other.kind == Kind::Folder && !other.isWritten &&
      isInside(written, other, written.example))
    return written.show() + " is in the folder that is read by " +
           other.show() +
           ": what is written there would be read as well; "
           "write to another folder";
  if (written.kind == Kind::Folder && other.kind != Kind::Found &&
      isInside(other, written, ""))
    return other.show() + " is a name under which " + written.show() +
           " keeps files of its own; give another";
  return "";
}

std::string PathUses::findConflict() const {
  for (size_t i = 0; i < uses_.size(); ++i)
    if (uses_[i].isWritten)
      for (size_t j = 0; j < uses_.size(); ++j) {
        // Of two written paths, `written` is the one registered first, unless
        // the other is a folder that contains it.
        bool isSecond =
            uses_[j].isWritten && j <= i && uses_[i].kind != Kind::Folder;
        if (i == j || isSecond)
          continue;
        if (std::string found = compare(uses_[i], uses_[j]); !found.empty())
          return found;
      }
  return "";
}
