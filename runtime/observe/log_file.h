//===- log_file.h - The file of --log -------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_LOG_FILE_H
#define PPOPT_RUNTIME_OBSERVE_LOG_FILE_H

#include "options/options.h"

#include <cstddef>
#include <string>

namespace ppopt::train {

/// Throws Error if there is a log that the run must not write to: only a
/// resumed run adds to one. Empty files, devices and pipes are no logs.
void checkNoLog(const Options &options);

/// At most one run has a log open at a time.
class LogFile {
public:
  /// Opens the log if --log is given. Throws Error, as checkNoLog and if
  /// another run has it open.
  explicit LogFile(const Options &options);
  ~LogFile();
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;

  bool isOpen() const { return descriptor_ >= 0; }
  /// Throws Error. Allocates nothing otherwise.
  void write(const char *text, size_t size);

private:
  void lock() const;

  const std::string path_;
  int descriptor_ = -1;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_LOG_FILE_H
