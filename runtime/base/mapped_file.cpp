//===- mapped_file.cpp - A file mapped into memory for reading ------------===//

#include "base/mapped_file.h"

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

[[noreturn]] void failWithErrno(const std::string &path, const char *what) {
  throw Error("{}: {}: {}", path, what, std::strerror(errno));
}

} // namespace

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

Descriptor::~Descriptor() {
  if (isOpen())
    ::close(value_);
}

Descriptor::Descriptor(Descriptor &&other) noexcept
    : value_(std::exchange(other.value_, -1)) {}

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor openToRead(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe blocks until it has a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.isOpen())
    failWithErrno(path, "cannot open");
  return file;
}

FileState stateOf(const Descriptor &file, const std::string &path) {
  constexpr int64_t kNanoseconds = 1000000000;
  struct stat status;
  if (::fstat(file.value(), &status) != 0)
    failWithErrno(path, "cannot read its size");
  if (!S_ISREG(status.st_mode))
    throw Error("{}: not a regular file", path);
  return {static_cast<uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec};
}

//===----------------------------------------------------------------------===//
// Mappings
//===----------------------------------------------------------------------===//

Mapping::Mapping(const Descriptor &file, uint64_t bytes,
                 const std::string &path)
    : size_(bytes) {
  if (size_ == 0)
    return; // mmap rejects an empty mapping
  void *address =
      ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (address == MAP_FAILED)
    failWithErrno(path, "cannot map into memory");
  data_ = static_cast<const unsigned char *>(address);
}

Mapping::Mapping(Mapping &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  if (this != &other) {
    unmap();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Mapping::unmap() {
  if (data_)
    ::munmap(const_cast<unsigned char *>(data_), size_);
}

MappedFile::MappedFile(const std::string &path) : path_(path) {
  Descriptor file = openToRead(path);
  mapping_ = Mapping(file, stateOf(file, path).bytes, path);
}

} // namespace ppopt::train
