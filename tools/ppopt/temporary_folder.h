//===- temporary_folder.h - A folder that is removed at exit --------------===//

#ifndef PPOPT_TOOLS_TEMPORARY_FOLDER_H
#define PPOPT_TOOLS_TEMPORARY_FOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include <string>
#include <thread>

namespace ppopt {

/// A temporary folder that the destructor removes. It is also removed if
/// SIGTERM, SIGINT or SIGHUP ends the process. At most one object per process.
class TemporaryFolder {
public:
  TemporaryFolder() = default;
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// Returns why it cannot be made; empty if it is.
  std::string create();

  std::string path(const llvm::Twine &name) const {
    return (llvm::Twine(folder) + "/" + name).str();
  }

private:
  void remove();
  void awaitSignal();

  llvm::SmallString<128> folder;
  int pipe[2] = {-1, -1}; ///< carries signals from their handler
  std::thread watcher;
};

} // namespace ppopt

#endif // PPOPT_TOOLS_TEMPORARY_FOLDER_H
