//===- mapped_file.h - A file mapped into memory for reading --------------===//

#ifndef PPOPT_TRAIN_MAPPED_FILE_H
#define PPOPT_TRAIN_MAPPED_FILE_H

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ppopt::train {

using runtime::Error;

/// A regular file's bytes, mapped read-only for as long as the object lives.
/// The constructor throws Error with one line that names the file.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return path_; }
  const unsigned char *data() const { return data_; }
  uint64_t size() const { return size_; }

private:
  void unmap();

  std::string path_;
  const unsigned char *data_ = nullptr;
  uint64_t size_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_MAPPED_FILE_H
