//===- share_writer.h - Writes a rank's share of checkpoints --------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
#define PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H

#include "base/background_thread.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/checkpoint_shares.h"
#include "device/cpu/host_memory.h"
#include "executor/rank.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {

/// A background thread of the rank writes the files from a copy in memory. The
/// memory of the copy is allocated once. Tensors that do not fit in it are
/// written from the rank's own memory while the rank waits.
class ShareWriter {
public:
  /// The copy uses at most `memory` bytes.
  ShareWriter(const ppopt_rank &rank, int64_t memory);
  /// Abandons a file that is being written.
  ~ShareWriter();

  /// Starts writing the rank's current state to files in `folder`. A parameter
  /// that is not finite is an error of the thread. On return the rank's memory
  /// may change again.
  void begin(const std::string &folder);

  BackgroundThread &thread() { return thread_; }
  /// Waits until the thread's job has ended. Throws RankFailure if a rank
  /// fails.
  void wait();
  /// The files that were written, one per CheckpointPart (0 bytes: no file).
  /// Valid once the thread has ended without an error.
  const std::vector<ManifestFile> &files() const { return files_; }

private:
  /// A tensor. Its first `direct` bytes are written without a copy.
  struct Item {
    device::DevicePointer data;
    int64_t bytes, direct;
    char *copy; ///< copy of the other bytes
  };
  struct File {
    std::string name;
    std::vector<TensorToStore> tensors;
    std::vector<Item> items; ///< one per tensor, in the same order
  };
  std::string describeNonFiniteParameter() const;
  void takeTensors();
  void divide(int64_t memory);
  void touch();
  void copy();
  void writeFiles(const std::string &folder);
  ManifestFile writeFile(const std::string &folder, const File &file);
  void releaseRank();
  void awaitRelease();
  void throwIfFailed() const;

  const ppopt_rank &rank_;
  int64_t bytes_ = 0;       ///< bytes that this rank writes
  int64_t directBytes_ = 0; ///< those of them that are not copied
  std::vector<File> plan_;  ///< one per CheckpointPart
  std::optional<device::HostMemory> copy_;
  std::vector<ManifestFile> files_;

  std::mutex mutex_;
  std::condition_variable released_;
  std::atomic<int64_t> directLeft_{0}; ///< bytes that the rank waits for
  BackgroundThread thread_;            ///< last: it uses the members above
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
