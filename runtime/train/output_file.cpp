//===- output_file.cpp - A new file, written from its beginning -----------===//

#include "train/output_file.h"

#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace ppopt::train {

OutputFile::OutputFile(const std::string &path, const std::string &shown)
    : shown_(shown) {
  descriptor_ =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("cannot create");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void OutputFile::write(const void *data, uint64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("cannot write");
    next += written;
    bytes -= static_cast<uint64_t>(written);
  }
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0)
    fail("cannot write to the disk");
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0)
    fail("cannot close");
}

void OutputFile::fail(const char *what) const {
  throw runtime::Error("{}: {}: {}", shown_, what, std::strerror(errno));
}

void syncFolder(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

std::string folderOf(const std::string &path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

} // namespace ppopt::train
