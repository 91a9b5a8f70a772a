//===- data_files.h - The files that samples are read from ----------------===//
//
// Any number of files. Only the most recently read ones are open and mapped. A
// file that has changed since it was added is no longer read, because nobody
// could then say what the run was trained on.
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

/// Shared by the ranks of a process. Any thread may call `read`.
class DataFiles {
public:
  /// The number of files that are mapped at a time. (A process has about 1024
  /// descriptors and 65530 mappings, and reads up to two sets of files.)
  static constexpr size_t kMapped = 128;

  /// Adds a file, with the index count() - 1 after the call. Copies its first
  /// `headBytes` bytes, or all if it has fewer, to `head`. Throws Error.
  void add(const std::string &path, unsigned char *head = nullptr,
           uint64_t headBytes = 0);

  uint64_t count() const { return files_.size(); }
  const std::string &path(size_t file) const { return files_[file].path; }
  uint64_t bytes(size_t file) const { return files_[file].state.bytes; }
  SampleFile describe(size_t file) const;

  /// Copies bytes of a file. Throws Error if the file has changed since it was
  /// added or cannot be read. The message names `sample`, the sample that needs
  /// the bytes. Allocates nothing otherwise.
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

  /// Returns the slot that maps a file. The mapping stays until `release`.
  Slot &acquire(size_t file, uint64_t sample);
  void release(Slot &slot);
  /// Returns the least recently used slot without readers; null if all have
  /// readers.
  Slot *findFree();
  void map(size_t file, Slot &slot, uint64_t sample);
  void unmap(Slot &slot);
  void checkUnchanged(const File &file, const Descriptor &descriptor,
                      uint64_t sample) const;

  std::vector<File> files_;
  std::mutex mutex_; ///< guards the slots and File::slot
  std::condition_variable released_;
  std::array<Slot, kMapped> slots_;
  uint64_t uses_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_DATA_FILES_H
