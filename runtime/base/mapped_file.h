//===- mapped_file.h - A file mapped into memory for reading --------------===//

#ifndef PPOPT_RUNTIME_BASE_MAPPED_FILE_H
#define PPOPT_RUNTIME_BASE_MAPPED_FILE_H

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ppopt::train {

using runtime::Error;

/// A file descriptor, closed by the destructor.
class Descriptor {
public:
  explicit Descriptor(int value = -1) : value_(value) {}
  ~Descriptor();
  Descriptor(Descriptor &&other) noexcept;
  Descriptor &operator=(Descriptor &&other) noexcept;

  int value() const { return value_; }
  bool isOpen() const { return value_ >= 0; }

private:
  int value_;
};

/// Opens a file for reading. Throws Error with one line that names the file.
Descriptor openToRead(const std::string &path);

/// What detects that a file has changed.
struct FileState {
  uint64_t bytes = 0;
  int64_t written = 0; ///< last modification, in ns since 1970

  bool operator==(const FileState &other) const {
    return bytes == other.bytes && written == other.written;
  }
  bool operator!=(const FileState &other) const { return !(*this == other); }
};

/// Throws Error, with one line that begins with `path`, if it is not a regular
/// file.
FileState stateOf(const Descriptor &file, const std::string &path);

/// The bytes of a file, mapped read-only for the lifetime of the object.
class Mapping {
public:
  Mapping() = default;
  /// Maps the first `bytes` bytes. Throws Error that names the file.
  Mapping(const Descriptor &file, uint64_t bytes, const std::string &path);
  ~Mapping() { unmap(); }
  Mapping(Mapping &&other) noexcept;
  Mapping &operator=(Mapping &&other) noexcept;

  const unsigned char *data() const { return data_; }
  uint64_t size() const { return size_; }

private:
  void unmap();

  const unsigned char *data_ = nullptr;
  uint64_t size_ = 0;
};

/// A whole regular file. Throws Error with one line that names the file.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);

  const std::string &path() const { return path_; }
  const unsigned char *data() const { return mapping_.data(); }
  uint64_t size() const { return mapping_.size(); }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(data()), size()};
  }

private:
  std::string path_;
  Mapping mapping_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_MAPPED_FILE_H
