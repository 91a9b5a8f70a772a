//===- output_file.h - A new file, written from its beginning -------------===//

#ifndef PPOPT_RUNTIME_BASE_OUTPUT_FILE_H
#define PPOPT_RUNTIME_BASE_OUTPUT_FILE_H

#include <cstdint>
#include <string>

namespace ppopt::train {

/// Every call throws Error with the path and the system's reason.
class OutputFile {
public:
  /// Creates the file, or empties the one that is there. Messages name it as
  /// `shown`.
  OutputFile(const std::string &path, const std::string &shown);
  explicit OutputFile(const std::string &path) : OutputFile(path, path) {}
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *data, uint64_t bytes);
  /// What was written is on the disk on return.
  void sync();
  void close();

private:
  [[noreturn]] void fail(const char *what) const;

  std::string shown_;
  int descriptor_ = -1;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_OUTPUT_FILE_H
