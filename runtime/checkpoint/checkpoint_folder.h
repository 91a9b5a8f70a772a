//===- checkpoint_folder.h - The folder of a run's checkpoints ------------===//
//
// A checkpoint is a folder `step-00000100` with a manifest. It is written under
// another name, which begins with a dot, and renamed once it is complete. A
// checkpoint is renamed before it is removed. So a folder with the name of a
// checkpoint is complete at any moment. `best` is a link to one of them. See
// docs/checkpoints.md.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

constexpr const char *kBestName = "best"; ///< of the link

/// Returns "step-00000100".
std::string checkpointName(int64_t step);

/// Returns whether a path, relative to a folder of checkpoints, is one that
/// runs create there, or is inside one.
bool isNameInCheckpoints(std::string_view path);

struct CheckpointEntry {
  int64_t step;
  std::string path;
  std::string unreadable; ///< why nobody can say whether it is one; or empty
};

/// Returns the checkpoints in a folder, oldest first; none if the folder does
/// not exist. A subfolder without a manifest is not a checkpoint; one that
/// cannot be looked into may be one. Throws Error.
std::vector<CheckpointEntry> listCheckpoints(const std::string &folder);

constexpr size_t kMarkBytes = 32;

/// Held by the process that saves to a folder, for as long as it lives.
class FolderLock {
public:
  /// Throws Error if another process holds the lock or the folder is not
  /// writable.
  explicit FolderLock(const std::string &folder);
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  /// Writes and returns the mark that seesMark looks for: kMarkBytes letters,
  /// unique to this lock. Throws Error if the folder is not writable.
  std::string mark();

private:
  std::string folder_;
  int descriptor_;
};

/// Returns whether this process sees the folder with this mark. It does not if
/// the path is a local folder of another machine. Waits a few seconds for the
/// mark to appear.
bool seesMark(const std::string &folder, const std::string &mark);

/// Returns the path under which a checkpoint is written. `writer` distinguishes
/// processes.
std::string partialPath(const std::string &folder, int64_t step,
                        int64_t writer);

/// Creates the folder `partial`, and first removes leftovers of earlier runs
/// that died while saving. Throws Error.
void createPartial(const std::string &folder, const std::string &partial);

/// Turns `partial` into the checkpoint of step `step`. Throws Error.
void commitPartial(const std::string &partial, const std::string &folder,
                   int64_t step);

/// Makes the link `best` in the folder lead to the checkpoint of a step,
/// instead of another one. Throws Error.
void linkBest(const std::string &folder, int64_t step);

/// Returns the step to whose checkpoint `best` leads; none without one.
std::optional<int64_t> bestIn(const std::string &folder);

/// Removes `partial`; ignores errors.
void removePartial(const std::string &partial);

/// Removes all checkpoints but the newest `keep`, counted from step `newest`
/// down, and the one to which `best` leads. Leaves those that cannot be looked
/// into. Throws Error.
void removeOlder(const std::string &folder, int64_t keep, int64_t newest);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_FOLDER_H
