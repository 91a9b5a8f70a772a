//===- whole_file.h - A file that is written as a whole -------------------===//

#ifndef PPOPT_FILES_WHOLE_FILE_H
#define PPOPT_FILES_WHOLE_FILE_H

#include <cstdint>
#include <string>

namespace ppopt {

/// Written under another name beside its own and renamed, so that at any moment
/// the old file is there or the new one. What is no file but a device or a pipe
/// is written to as it is. Every call returns why it failed, without the path;
/// empty where it did not.
class WholeFile {
public:
  /// `mode` as for open(2).
  std::string open(const std::string &path, unsigned mode = 0666);
  /// Removes what was not committed.
  ~WholeFile();
  WholeFile() = default;
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;

  std::string write(const void *data, uint64_t bytes);
  /// Under its name, and on the disk where `isDurable`.
  std::string commit(bool isDurable = true);

  /// The other name; empty where it has none.
  const std::string &aside() const { return aside_; }

private:
  std::string path_, aside_;
  int descriptor_ = -1;
};

/// Writes all of it, however often that is interrupted. False where it failed,
/// with errno.
bool writeAll(int descriptor, const void *data, uint64_t bytes);

/// What was created, renamed or removed in a folder is so after a crash, too.
/// Some file systems cannot do this; nothing is said there.
void syncFolder(const std::string &folder);

} // namespace ppopt

#endif // PPOPT_FILES_WHOLE_FILE_H
