//===- path_uses.h - What a command reads and what it writes --------------===//
//
// A command tells all its paths before it touches anything, and learns whether
// one that it writes is one that it reads, or writes twice. What is there is
// the same file where device and inode are the same, through whatever links;
// what is not there yet, where the path is the same after links and "..".
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

/// Whether a command reads, or writes, the file of that path in a folder.
using InFolder = std::function<bool(std::string_view path)>;

/// Each path comes with the flag, or the words, that a message names it by.
class PathUses {
public:
  /// A file, or a folder of whose files those are read that `takes` says; all
  /// without it.
  void reads(const std::string &name, const std::string &path,
             InFolder takes = nullptr);
  /// A file that was found under a folder that is read.
  void readsFound(const std::string &name, const std::string &path);
  void writes(const std::string &name, const std::string &path);
  /// A folder in which files are made and removed whose first name `takes`
  /// says; `example` is one of them.
  void writesFolder(const std::string &name, const std::string &path,
                    const std::string &example, InFolder takes);
  /// Standard input, output and error, as far as they are files.
  void readsInput();
  void writesOutput();

  /// One line about the first conflict; empty where there is none.
  std::string findConflict() const;

private:
  enum class Kind { File, Found, Stream, Folder };
  struct Use {
    Kind kind;
    bool isWritten;
    std::string name, path;
    InFolder takes = nullptr;
    std::string example = {};
    bool isThere = false, isSpecial = false; ///< special: a device, a pipe
    dev_t device = 0;
    ino_t inode = 0;
    std::string real = {}; ///< the path after links and ".."

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
