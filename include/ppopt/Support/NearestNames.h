//===- NearestNames.h - Suggests names for a misspelled one ---------------===//

#ifndef PPOPT_SUPPORT_NEARESTNAMES_H
#define PPOPT_SUPPORT_NEARESTNAMES_H

#include "ppopt/nearest_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ppopt {

/// Returns the nearest known names, at most three; none if the nearest is not
/// near. `getStem` returns the part of a name that is compared.
inline llvm::SmallVector<llvm::StringRef>
findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> known,
            llvm::function_ref<llvm::StringRef(llvm::StringRef)> getStem) {
  std::vector<std::string_view> stems;
  for (llvm::StringRef name : known)
    stems.push_back(getStem(name));
  llvm::SmallVector<llvm::StringRef> nearest;
  for (size_t found : nearestNames(getStem(word), stems))
    if (nearest.size() < 3)
      nearest.push_back(known[found]);
  return nearest;
}

/// Returns "'a', 'b' or 'c'".
inline std::string quoteNames(llvm::ArrayRef<llvm::StringRef> names) {
  std::string list;
  for (auto [i, name] : llvm::enumerate(names)) {
    if (i > 0)
      list += i + 1 == names.size() ? " or " : ", ";
    list += ("'" + name + "'").str();
  }
  return list;
}

/// Returns "; did you mean 'a' or 'b'?", or nothing if there are no names.
inline std::string askWhether(llvm::ArrayRef<llvm::StringRef> names) {
  return names.empty() ? "" : "; did you mean " + quoteNames(names) + "?";
}

/// Returns "; did you mean 'x'?" with the nearest of `known`, which may be
/// flags, or nothing if none is near.
inline std::string askForNearest(llvm::StringRef word,
                                 llvm::ArrayRef<llvm::StringRef> known) {
  return askWhether(
      findNearest(word, known, [](llvm::StringRef name) { return name; }));
}

/// The same, but with a list of all of `known` if none is near.
inline std::string suggest(llvm::StringRef word,
                           llvm::ArrayRef<llvm::StringRef> known) {
  std::string question = askForNearest(word, known);
  return known.empty() || !question.empty() ? question
                                            : "; it takes " + quoteNames(known);
}

} // namespace ppopt

#endif // PPOPT_SUPPORT_NEARESTNAMES_H
