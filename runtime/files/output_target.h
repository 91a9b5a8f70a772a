//===- output_target.h - Where an output goes -----------------------------===//
//
// In a folder that others may write to, a link of theirs could lead an output
// to any file of this user. So the last name of an output's path may be a link
// only where that belongs to this user or to root.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_FILES_OUTPUT_TARGET_H
#define PPOPT_FILES_OUTPUT_TARGET_H

#include <string>

namespace ppopt {

/// "WHAT: why", from errno.
std::string describeFailure(const char *what);

struct OutputTarget {
  std::string path; ///< after links
  /// Leads to an open file, of which it is no path: /proc/self/fd/1.
  bool isDescriptor = false;
  std::string error = {}; ///< else empty
};
OutputTarget followLinks(const std::string &path);

struct OpenedOutput {
  int descriptor = -1;
  std::string error = {}; ///< where there is no descriptor
};
/// Opens with `flags`, O_CLOEXEC and the mode 0666.
OpenedOutput openOutput(const std::string &path, int flags);

/// How a file is written.
enum class Writing {
  InPlace, ///< opened, made if it is not there
  Whole,   ///< aside, then renamed (WholeFile)
};
/// Why that will fail; empty where nothing speaks against it. Changes nothing.
std::string whyNotWritable(const std::string &path, Writing writing);

/// The folder that a path is in: "." for a name alone.
std::string folderOf(const std::string &path);

/// Makes a new file beside `path`, and says under what name in `aside`.
OpenedOutput openAside(const std::string &path, unsigned mode,
                       std::string &aside);

} // namespace ppopt

#endif // PPOPT_FILES_OUTPUT_TARGET_H
