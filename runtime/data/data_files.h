//===- data_files.h - The files that samples are read from ----------------===//
//
// Any number of files, of which a few are open and mapped at a time: those that
// were read last. A file is what it was when it was added: one that has been
// changed since is not read any more, for nobody could then say what the run
// was trained on.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_DATA_FILES_H
#define PPOPT_RUNTIME_DATA_DATA_FILES_H

#include "base/mapped_file.h"
#include "data/sample_file.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace ppopt::train {

/// Shared by the ranks of a process: `read` may be called by any thread.
class DataFiles {
public:
  /// How many files are mapped at a time. (A process has some 1024 descriptors
  /// and 65530 mappings, and reads up to two sets of files.)
  static constexpr size_t kMapped = 128;

  /// Adds a file; it is number count() - 1 from now on. Its first bytes, as
  /// many as there are of `headBytes`, are written to `head`. Throws Error.
  void add(const std::string &path, unsigned char *head = nullptr,
           uint64_t headBytes = 0);

  uint64_t count() const { return files_.size(); }
  const std::string &path(size_t file) const { return files_[file].path; }
  uint64_t bytes(size_t file) const { return files_[file].state.bytes; }
  SampleFile describe(size_t file) const;

  /// Copies bytes of a file. Throws Error where the file is not any more what
  /// it was when it was added, or cannot be read; `sample`, which needs it, is
  /// named in the message. Allocates nothing otherwise.
  void read(size_t file, uint64_t offset, uint64_t bytes, void *into,
            uint64_t sample);

private:
  struct File {
    std::string path;
    FileState state;
    int32_t slot; ///< -1: not mapped
  };
  struct Slot {
    int64_t file = -1;
    Descriptor descriptor;
    Mapping mapping;
    int readers = 0;
    uint64_t lastUse = 0;
  };

  /// The slot that maps a file. It stays so until it is released.
  Slot &acquire(size_t file, uint64_t sample);
  void release(Slot &slot);
  /// Of those that nobody reads, the one whose last use is longest ago; null
  /// where all are read.
  Slot *findFree();
  void map(size_t file, Slot &slot, uint64_t sample);
  void unmap(Slot &slot);
  void checkUnchanged(const File &file, const Descriptor &descriptor,
                      uint64_t sample) const;

  std::vector<File> files_;
  std::mutex mutex_; ///< of the slots, and of the files' `slot`
  std::condition_variable released_;
  std::array<Slot, kMapped> slots_;
  uint64_t uses_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_DATA_FILES_H
