//===- log_file.cpp - The file of --log -----------------------------------===//

#include "observe/log_file.h"

#include "base/error.h"
#include "base/stop_signals.h"
#include "files/output_target.h"
#include "files/system_error.h"
#include "files/whole_file.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ppopt::train {
namespace {

using runtime::Error;

bool hasText(const struct stat &status) {
  return S_ISREG(status.st_mode) && status.st_size > 0;
}

[[noreturn]] void refuse(const std::string &path) {
  throw Error("--log {}: there is a log of an earlier run: give another name, "
              "remove it, or continue that run with --resume, which adds to it",
              path);
}

/// Removes an incomplete last line from the log of a run that died.
void cutTornLine(int log) {
  off_t end = ::lseek(log, 0, SEEK_END);
  for (char last = 0; end > 0; --end)
    if (::pread(log, &last, 1, end - 1) != 1 || last == '\n')
      break;
  // If truncation fails, the line stays.
  [[maybe_unused]] int ignored = ::ftruncate(log, end);
}

} // namespace

void checkNoLog(const Options &options) {
  struct stat status;
  if (!options.log.empty() && !options.resume &&
      ::stat(options.log.c_str(), &status) == 0 && hasText(status))
    refuse(options.log);
}

LogFile::LogFile(const Options &options) : path_(options.log) {
  if (path_.empty())
    return;
  OpenedOutput log = openOutput(path_, O_RDWR | O_CREAT | O_APPEND);
  descriptor_ = log.descriptor;
  if (descriptor_ < 0)
    throw Error("--log {}: {}", path_, log.error);
  try {
    lock();
    // Now, since another run may have begun and ended after the first check.
    checkNoLog(options);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  if (options.resume)
    cutTornLine(descriptor_);
}

LogFile::~LogFile() {
  if (isOpen())
    ::close(descriptor_);
}

/// Any number of runs may write to a device. On a file system without locks, a
/// second run is not seen.
void LogFile::lock() const {
  struct stat status;
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
      ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error("--log {}: another run writes to it: give another name", path_);
}

void LogFile::write(const char *text, size_t size) {
  if (writeAll(descriptor_, text, size))
    return;
  // The reader of a pipe has exited: the run saves and stops.
  if (errno == EPIPE && StopSignals::noted() == SIGPIPE)
    return;
  throw Error("--log {}: {}", path_, describeFailure("cannot write"));
}

} // namespace ppopt::train
