//===- output_target.cpp - Where an output is written ---------------------===//

#include "files/output_target.h"

#include "files/system_error.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace ppopt {
namespace {

/// Closes the descriptor in the destructor and preserves errno.
class Handle {
public:
  explicit Handle(int descriptor) : descriptor_(descriptor) {}
  ~Handle() {
    int error = errno;
    if (descriptor_ >= 0)
      ::close(descriptor_);
    errno = error;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  int get() const { return descriptor_; }

private:
  int descriptor_;
};

} // namespace

std::string folderOf(const std::string &path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

OutputTarget followLinks(const std::string &path) {
  constexpr int kMostLinks = 40;
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    Handle link(::open(at.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status;
    if (link.get() < 0 || ::fstat(link.get(), &status) != 0)
      return {at, false, errno == ENOENT ? "" : describeFailure("cannot open")};
    if (!S_ISLNK(status.st_mode))
      return {at};
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      return {at, false,
              "is a link that another user made (uid " +
                  std::to_string(status.st_uid) +
                  "), which is not followed: remove it, or write elsewhere"};
    struct statfs system;
    if (::fstatfs(link.get(), &system) == 0 &&
        system.f_type == PROC_SUPER_MAGIC)
      return {at, true};
    char target[PATH_MAX];
    ssize_t length = ::readlinkat(link.get(), "", target, sizeof target);
    if (length < 0)
      return {at, false, describeFailure("cannot read the link")};
    std::string leads(target, static_cast<size_t>(length));
    at = leads.rfind('/', 0) == 0 ? leads : folderOf(at) + "/" + leads;
  }
  errno = ELOOP;
  return {path, false, describeFailure("cannot open")};
}

OpenedOutput openOutput(const std::string &path, int flags) {
  OutputTarget target = followLinks(path);
  if (!target.error.empty())
    return {-1, target.error};
  int noLinks = target.isDescriptor ? 0 : O_NOFOLLOW;
  int descriptor =
      ::open(target.path.c_str(), flags | noLinks | O_CLOEXEC, 0666);
  return {descriptor, descriptor < 0 ? describeFailure("cannot create") : ""};
}

OpenedOutput openAside(const std::string &path, unsigned mode,
                       std::string &aside) {
  constexpr int kTries = 100; // an aborted run may have left one
  for (int i = 0; i < kTries; ++i) {
    aside = path + "." + std::to_string(::getpid()) +
            (i == 0 ? "" : "-" + std::to_string(i)) + ".part";
    int descriptor =
        ::open(aside.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor >= 0)
      return {descriptor, ""};
    if (errno != EEXIST)
      break;
  }
  return {-1, describeFailure("cannot create")};
}

std::string whyNotWritable(const std::string &path, Writing writing) {
  OutputTarget target = followLinks(path);
  if (!target.error.empty())
    return target.error;
  struct stat status;
  bool isThere = ::stat(target.path.c_str(), &status) == 0;
  if (isThere && S_ISDIR(status.st_mode))
    return "is a folder";
  if (isThere && (writing == Writing::InPlace || target.isDescriptor ||
                  !S_ISREG(status.st_mode)))
    return ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) == 0
               ? ""
               : describeFailure("cannot write");
  std::string folder = folderOf(target.path);
  struct stat around;
  if (::stat(folder.c_str(), &around) != 0 || !S_ISDIR(around.st_mode))
    return "there is no folder " + folder;
  uid_t user = ::geteuid();
  if (isThere && (around.st_mode & S_ISVTX) && user != 0 &&
      status.st_uid != user && around.st_uid != user)
    return "belongs to another user (uid " + std::to_string(status.st_uid) +
           "), and in " + folder + " only its owner may replace it";
  // A rename needs write access to the folder only. But a write-protected file
  // is protected on purpose.
  if (isThere &&
      ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
    return describeFailure("cannot write");
  std::string aside;
  OpenedOutput probe = openAside(target.path, 0666, aside);
  if (probe.descriptor < 0)
    return "cannot write to " + folder + ": " + describeError(errno);
  ::close(probe.descriptor);
  ::unlink(aside.c_str());
  return "";
}

} // namespace ppopt
