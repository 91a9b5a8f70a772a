//===- output_target.h - Where an output is written -----------------------===//
//
// In a folder that other users can write to, a link of theirs could redirect an
// output to any file of this user. So the last component of an output's path
// may be a link only if this user or root owns it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_FILES_OUTPUT_TARGET_H
#define PPOPT_FILES_OUTPUT_TARGET_H

#include <string>

namespace ppopt {

struct OutputTarget {
  std::string path; ///< with links followed
  /// The path names an open descriptor, not a file: /proc/self/fd/1.
  bool isDescriptor = false;
  std::string error = {}; ///< empty on success
};
OutputTarget followLinks(const std::string &path);

struct OpenedOutput {
  int descriptor = -1;
  std::string error = {}; ///< set if there is no descriptor
};
/// Opens with `flags`, O_CLOEXEC and mode 0666.
OpenedOutput openOutput(const std::string &path, int flags);

/// How a file will be written.
enum class Writing {
  InPlace, ///< opened in place, created if missing
  Whole,   ///< written to a temporary file, then renamed (WholeFile)
};
/// Returns why writing will fail, or empty if nothing prevents it. Changes
/// nothing.
std::string whyNotWritable(const std::string &path, Writing writing);

/// Returns the folder of a path: "." for a bare name.
std::string folderOf(const std::string &path);

/// Creates a temporary file in the folder of `path` and stores its name in
/// `aside`.
OpenedOutput openAside(const std::string &path, unsigned mode,
                       std::string &aside);

} // namespace ppopt

#endif // PPOPT_FILES_OUTPUT_TARGET_H
