//===- share_writer.h - Writes a rank's share of checkpoints --------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
#define PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H

#include "base/background_thread.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/checkpoint_shares.h"
#include "executor/arena.h"
#include "executor/rank.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {

/// Files are written by a thread of the rank's from a copy in memory that is
/// taken once; what the copy has no room for, from the rank's own memory, while
/// the rank stands.
class ShareWriter {
public:
  /// The copy takes at most `memory` bytes.
  ShareWriter(const ppopt_rank &rank, int64_t memory);
  /// Gives up a file that is being written.
  ~ShareWriter();

  /// Starts to write what the rank holds now to files in `folder`; where a
  /// parameter is not finite that is an error of the thread. On return the
  /// rank's memory may change again.
  void begin(const std::string &folder);

  BackgroundThread &thread() { return thread_; }
  /// Until the thread's job has ended. Throws RankFailure if a rank fails.
  void wait();
  /// What was written, one for each CheckpointPart (no bytes: no file); when
  /// the thread has ended without an error.
  const std::vector<ManifestFile> &files() const { return files_; }

private:
  /// A tensor: its first `direct` bytes are not copied.
  struct Item {
    const char *data;
    int64_t bytes, direct;
    char *copy; ///< of the others
  };
  struct File {
    std::string name;
    std::vector<TensorToStore> tensors;
    std::vector<Item> items; ///< of the tensors, in their order
  };
  struct Piece {
    const char *from;
    char *to;
    int64_t bytes;
  };

  std::string describeNonFiniteParameter() const;
  void takeTensors();
  void divide(int64_t memory);
  template <typename Use> void forEachPiece(const Use &use);
  void touch();
  void copy();
  void writeFiles(const std::string &folder);
  ManifestFile writeFile(const std::string &folder, const File &file);
  void releaseRank();
  void awaitRelease();
  void throwIfFailed() const;

  const ppopt_rank &rank_;
  int64_t bytes_ = 0;       ///< of the tensors that this rank writes
  int64_t directBytes_ = 0; ///< of them, not copied
  std::vector<File> plan_;  ///< one for each CheckpointPart
  std::optional<runtime::Arena> copy_;
  std::vector<Piece> pieces_; ///< of the copy, small ones
  std::vector<ManifestFile> files_;

  std::mutex mutex_;
  std::condition_variable released_;
  std::atomic<int64_t> directLeft_{0}; ///< bytes that the rank waits for
  BackgroundThread thread_;            ///< last: it uses the others
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
