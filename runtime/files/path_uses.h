//===- path_uses.h - Paths that a command reads and writes ----------------===//
//
// A command registers all its paths before it touches anything. Then it learns
// whether it would write a path that it reads, or write a path twice. Existing
// files are the same if device and inode are equal, through any links. Missing
// files are the same if the paths are equal after resolving links and "..".
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_FILES_PATH_USES_H
#define PPOPT_FILES_PATH_USES_H

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace ppopt {

/// Returns whether a command reads, or writes, the file of that path in a
/// folder.
using InFolder = std::function<bool(std::string_view path)>;

/// Every path comes with the flag or the words that name it in messages.
class PathUses {
public:
  /// Registers a file, or a folder of which the files that `takes` accepts are
  /// read; without `takes`, all.
  void reads(const std::string &name, const std::string &path,
             InFolder takes = nullptr);
  /// Registers a file that was found in a folder that is read.
  void readsFound(const std::string &name, const std::string &path);
  void writes(const std::string &name, const std::string &path);
  /// Registers a folder in which files are created and removed whose first path
  /// component `takes` accepts. `example` is one of them.
  void writesFolder(const std::string &name, const std::string &path,
                    const std::string &example, InFolder takes);
  /// Register standard input, output and error if they are regular files.
  void readsInput();
  void writesOutput();

  /// Returns one line about the first conflict, or empty if there is none.
  std::string findConflict() const;

private:
  enum class Kind { File, Found, Stream, Folder };
  struct Use {
    Kind kind;
    bool isWritten;
    std::string name, path;
    InFolder takes = nullptr;
    std::string example = {};
    bool isThere = false, isSpecial = false; ///< special: a device or a pipe
    dev_t device = 0;
    ino_t inode = 0;
    std::string real = {}; ///< the path with links and ".." resolved

    std::string show() const { return path.empty() ? name : name + " " + path; }
  };

  static Use identify(Kind kind, bool isWritten, const std::string &name,
                      const std::string &path);
  void addStream(bool isWritten, const char *name, int descriptor);
  static bool isSame(const Use &a, const Use &b);
  static bool isInside(const Use &inner, const Use &folder,
                       std::string_view example);
  static std::string compare(const Use &written, const Use &other);

  std::vector<Use> uses_;
};

} // namespace ppopt

#endif // PPOPT_FILES_PATH_USES_H
