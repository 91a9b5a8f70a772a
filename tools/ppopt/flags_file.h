//===- flags_file.h - Files with flags --------------------------*- C++ -*-===//

#ifndef PPOPT_TOOLS_FLAGS_FILE_H
#define PPOPT_TOOLS_FLAGS_FILE_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace ppopt {

/// A word of a file, without its quotes.
struct FileWord {
  std::string text;
  unsigned line; ///< from 1
};

/// Splits a text into words as a shell does, line by line, and appends them. A
/// word that begins with '#' begins a comment. Returns what is wrong, as
/// "LINE: …", empty if nothing.
std::string splitWords(llvm::StringRef text, std::vector<FileWord> &words);

} // namespace ppopt

#endif // PPOPT_TOOLS_FLAGS_FILE_H
