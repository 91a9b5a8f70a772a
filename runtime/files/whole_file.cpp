//===- whole_file.cpp - A file that is replaced atomically ----------------===//

#include "files/whole_file.h"

#include "files/output_target.h"
#include "files/system_error.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ppopt {
std::string WholeFile::open(const std::string &path, unsigned mode) {
  OutputTarget target = followLinks(path);
  if (!target.error.empty())
    return target.error;
  path_ = target.path;
  struct stat status;
  bool isThere = ::stat(path_.c_str(), &status) == 0;
  // The new file is not readable by anyone who could not read the old one.
  if (isThere && S_ISREG(status.st_mode))
    mode &= (status.st_mode & 0666) | 0111;
  OpenedOutput opened =
      isThere && !S_ISREG(status.st_mode) ? openOutput(path, O_WRONLY)
      : target.isDescriptor               ? openOutput(path, O_WRONLY | O_TRUNC)
                                          : openAside(path_, mode, aside_);
  descriptor_ = opened.descriptor;
  if (descriptor_ < 0)
    aside_.clear();
  return opened.error;
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  if (!aside_.empty())
    ::unlink(aside_.c_str());
}

std::string WholeFile::write(const void *data, uint64_t bytes) {
  return writeAll(descriptor_, data, bytes) ? ""
                                            : describeFailure("cannot write");
}

std::string WholeFile::writeAt(uint64_t offset, const void *data,
                               uint64_t bytes) {
  return writeAll(descriptor_, data, bytes, offset)
             ? ""
             : describeFailure("cannot write");
}

bool WholeFile::adopt(const std::string &file) {
  struct stat status;
  return !aside_.empty() && ::fstat(descriptor_, &status) == 0 &&
         ::chmod(file.c_str(), status.st_mode & 07777) == 0 &&
         ::rename(file.c_str(), aside_.c_str()) == 0;
}

std::string WholeFile::commit(bool isDurable) {
  if (isDurable && !aside_.empty() && ::fsync(descriptor_) != 0)
    return describeFailure("cannot write to the disk");
  if (::close(std::exchange(descriptor_, -1)) != 0)
    return describeFailure("cannot close");
  if (aside_.empty())
    return "";
  if (::rename(aside_.c_str(), path_.c_str()) != 0)
    return describeFailure("cannot rename into place");
  aside_.clear();
  if (isDurable)
    syncFolder(folderOf(path_));
  return "";
}

bool writeAll(int descriptor, const void *data, uint64_t bytes,
              std::optional<uint64_t> offset) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written =
        offset ? ::pwrite(descriptor, next, bytes, static_cast<off_t>(*offset))
               : ::write(descriptor, next, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    next += written;
    bytes -= static_cast<uint64_t>(written);
    if (offset)
      *offset += static_cast<uint64_t>(written);
  }
  return true;
}

void syncFolder(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

} // namespace ppopt
