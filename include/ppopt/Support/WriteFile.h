//===- WriteFile.h - Writes files that a user names -----------------------===//

#ifndef PPOPT_SUPPORT_WRITEFILE_H
#define PPOPT_SUPPORT_WRITEFILE_H

#include "files/whole_file.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace ppopt {

/// Writes a whole file, with a mode as for open(2), or leaves it unchanged.
/// Returns an error that begins with the path; empty on success.
inline std::string writeWhole(llvm::StringRef path, llvm::StringRef text,
                              unsigned mode = 0666) {
  WholeFile file;
  std::string error = file.open(path.str(), mode);
  if (error.empty())
    error = file.write(text.data(), text.size());
  if (error.empty())
    error = file.commit(/*isDurable=*/false);
  return error.empty() ? "" : (path + ": " + error).str();
}

} // namespace ppopt

#endif // PPOPT_SUPPORT_WRITEFILE_H
