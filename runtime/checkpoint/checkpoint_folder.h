//===- checkpoint_folder.h - The folder of a run's checkpoints ------------===//
//
// A checkpoint is a folder `step-00000100` with a manifest in it. It is written
// under another name, which begins with a dot, and renamed when it is complete;
// one that is removed is renamed first. So whatever has the name of a
// checkpoint is whole, at any moment. docs/checkpoints.md has the rest.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// "step-00000100".
std::string checkpointName(int64_t step);

/// Whether a path in a folder of checkpoints is, or is in, what runs keep
/// there.
bool isNameInCheckpoints(std::string_view path);

struct CheckpointEntry {
  int64_t step;
  std::string path;
};

/// The checkpoints in a folder, oldest first; none where there is no folder.
/// A folder without a manifest is none.
std::vector<CheckpointEntry> listCheckpoints(const std::string &folder);

constexpr size_t kMarkBytes = 32;

/// Held by the process that saves to a folder, for as long as it lives.
class FolderLock {
public:
  /// Throws Error where another process holds it or nothing can be written.
  explicit FolderLock(const std::string &folder);
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  /// What seesMark looks for: kMarkBytes letters that no other lock has.
  /// Throws Error where nothing can be written.
  std::string mark();

private:
  std::string folder_;
  int descriptor_;
};

/// Whether this process sees the folder that was marked so: another machine may
/// have one of its own of that name. Waits for some seconds until it does.
bool seesMark(const std::string &folder, const std::string &mark);

/// The name under which a checkpoint is written. `writer` tells those of
/// different processes apart.
std::string partialPath(const std::string &folder, int64_t step,
                        int64_t writer);

/// Makes the folder of that name after removing what earlier runs left behind
/// when they died while saving. Throws Error.
void createPartial(const std::string &folder, const std::string &partial);

/// Makes a checkpoint of what was written under `partial`. Throws Error.
void commitPartial(const std::string &partial, const std::string &folder,
                   int64_t step);

/// As far as that is possible.
void removePartial(const std::string &partial);

/// Removes all but `keep` checkpoints, the newest up to that of step `newest`.
/// Throws Error.
void removeOlder(const std::string &folder, int64_t keep, int64_t newest);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H
