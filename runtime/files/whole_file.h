//===- whole_file.h - A file that is replaced atomically ------------------===//

#ifndef PPOPT_FILES_WHOLE_FILE_H
#define PPOPT_FILES_WHOLE_FILE_H

#include <cstdint>
#include <optional>
#include <string>

namespace ppopt {

/// Writes a temporary file in the same folder and renames it. So at any moment
/// either the old file or the new one is there. Devices and pipes are written
/// in place. Every call returns why it failed, without the path, or empty on
/// success.
class WholeFile {
public:
  /// `mode` as for open(2).
  std::string open(const std::string &path, unsigned mode = 0666);
  /// Removes the temporary file if it was not committed.
  ~WholeFile();
  WholeFile() = default;
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;

  std::string write(const void *data, uint64_t bytes);
  /// Writes at an offset, which devices and pipes may not have.
  std::string writeAt(uint64_t offset, const void *data, uint64_t bytes);
  /// Makes another file, which is gone then, the contents, with this one's
  /// mode. Returns false if it cannot, as of another file system: then write()
  /// it. Not for what is durable.
  bool adopt(const std::string &file);
  /// Renames the file into place. If `isDurable`, it is on the disk on return.
  std::string commit(bool isDurable = true);

  /// Returns the name of the temporary file; empty if there is none.
  const std::string &aside() const { return aside_; }

private:
  std::string path_, aside_;
  int descriptor_ = -1;
};

/// Writes all bytes, at an offset if one is given, and continues after
/// interruptions. Returns false on failure and sets errno.
bool writeAll(int descriptor, const void *data, uint64_t bytes,
              std::optional<uint64_t> offset = std::nullopt);

/// Makes creations, renames and removals in a folder survive a crash. Some file
/// systems do not support this; such failures are ignored.
void syncFolder(const std::string &folder);

} // namespace ppopt

#endif // PPOPT_FILES_WHOLE_FILE_H
