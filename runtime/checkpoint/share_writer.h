//===- share_writer.h - Writes a rank's share of checkpoints --------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
#define PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H

#include "base/background_thread.h"
#include "checkpoint/byte_handover.h"
#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/share_layout.h"
#include "device/cpu/host_memory.h"
#include "executor/rank.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::train {

/// A background thread of the rank writes the files from a copy in memory. The
/// memory of the copy is allocated once. What does not fit in it is passed to
/// the thread in pieces while the rank waits. share_layout.h says which rank
/// writes what, and why ranks that gather pieces do not block each other.
class ShareWriter {
public:
  /// The copy uses at most `memory` bytes, the same on all ranks.
  ShareWriter(const ppopt_rank &rank, int64_t memory);
  /// Abandons a file that is being written.
  ~ShareWriter();

  /// Called by all ranks. Starts writing the rank's share of the current state
  /// to files in `folder`, and sends others what they write. A parameter that
  /// is not finite is an error of the thread. On return the rank's memory may
  /// change again. Throws RankFailure if a rank fails.
  void begin(const std::string &folder);

  BackgroundThread &thread() { return thread_; }
  /// Waits until the thread's job has ended. Throws RankFailure if a rank
  /// fails.
  void wait();
  /// The files that were written, one per CheckpointPart (0 bytes: no file).
  /// Valid once the thread has ended without an error.
  const std::vector<ManifestFile> &files() const { return files_; }

private:
  std::string describeNonFiniteParameter() const;
  void touch();
  const char *read(const GatheredBytes &own);
  void send(const GatheredBytes &own);
  const char *receive(const GatheredBytes &other);
  void gather(const GatheredBytes &each, char *to, int64_t origin);
  void gatherCopy();
  void passDirectBytes();
  using Pieces = std::vector<GatheredBytes>::const_iterator;
  void pass(Pieces begin, Pieces end);
  void writeFiles(const std::string &folder);
  ManifestFile writeFile(const std::string &folder,
                         const ShareLayout::File &file, int64_t &at);
  void writeBytes(int64_t at, int64_t bytes, const WriteBytes &write);
  void throwIfFailed() const;

  const ppopt_rank &rank_;
  const ShareLayout layout_;
  std::optional<device::HostMemory> copy_;
  /// What one rank has in a window, and what all have of a tensor, between
  /// devices, ranks and the thread.
  std::vector<char> piece_, window_;
  std::vector<ManifestFile> files_;

  ByteHandover direct_;     ///< of the direct bytes, from the rank
  BackgroundThread thread_; ///< last: it uses the members above
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_SHARE_WRITER_H
