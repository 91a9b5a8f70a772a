//===- mapped_file.cpp - A file mapped into memory for reading ------------===//

#include "train/mapped_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ppopt::train {
namespace {

/// Closes a descriptor when the scope ends; a mapping outlives it.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

[[noreturn]] void failWithErrno(const std::string &path, const char *what) {
  throw Error("{}: {}: {}", path, what, std::strerror(errno));
}

} // namespace

MappedFile::MappedFile(const std::string &path) : path_(path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    failWithErrno(path, "cannot open");
  struct stat status;
  if (::fstat(file.value, &status) != 0)
    failWithErrno(path, "cannot read its size");
  if (!S_ISREG(status.st_mode))
    throw Error("{}: not a regular file", path);
  size_ = static_cast<uint64_t>(status.st_size);
  if (size_ == 0)
    return; // mmap refuses an empty mapping
  void *address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED)
    failWithErrno(path, "cannot map into memory");
  data_ = static_cast<const unsigned char *>(address);
}

MappedFile::~MappedFile() { unmap(); }

MappedFile::MappedFile(MappedFile &&other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this != &other) {
    unmap();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void MappedFile::unmap() {
  if (data_)
    ::munmap(const_cast<unsigned char *>(data_), size_);
}

} // namespace ppopt::train
