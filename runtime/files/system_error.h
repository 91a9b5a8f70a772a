//===- system_error.h - Why the system refused a call ---------------------===//

#ifndef PPOPT_FILES_SYSTEM_ERROR_H
#define PPOPT_FILES_SYSTEM_ERROR_H

#include <string>

namespace ppopt {

/// From now on a write beyond the limit of file sizes (`ulimit -f`) fails as on
/// a full disk. By default the signal SIGXFSZ ends the process, which leaves
/// partial files. Call it before anything is written.
void reportFileSizeLimit();

/// Returns the text of an errno. If a file is too large for the limit of file
/// sizes, says so.
std::string describeError(int error);

/// Returns "WHAT: why", where errno gives the reason.
std::string describeFailure(const char *what);

} // namespace ppopt

#endif // PPOPT_FILES_SYSTEM_ERROR_H
