//===- output_file.cpp - A new file, written sequentially -----------------===//

#include "base/output_file.h"

#include "base/error.h"
#include "files/system_error.h"
#include "files/whole_file.h"

#include <cerrno>
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
  if (!writeAll(descriptor_, data, bytes))
    fail("cannot write");
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
  throw runtime::Error("{}: {}: {}", shown_, what, describeError(errno));
}

} // namespace ppopt::train
