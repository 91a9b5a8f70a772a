//===- output_file.h - A new file, written sequentially -------------------===//

#ifndef PPOPT_RUNTIME_BASE_OUTPUT_FILE_H
#define PPOPT_RUNTIME_BASE_OUTPUT_FILE_H

#include <cstdint>
#include <string>

namespace ppopt::train {

/// Every call throws Error with the path and the system's reason.
class OutputFile {
public:
  /// Creates the file, or truncates an existing one. Messages call it `shown`.
  OutputFile(const std::string &path, const std::string &shown);
  explicit OutputFile(const std::string &path) : OutputFile(path, path) {}
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  void write(const void *data, uint64_t bytes);
  /// Returns once all written data is on the disk.
  void sync();
  void close();

private:
  [[noreturn]] void fail(const char *what) const;

  std::string shown_;
  int descriptor_ = -1;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_OUTPUT_FILE_H
