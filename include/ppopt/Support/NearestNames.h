//===- NearestNames.h - Suggests names for a misspelled one ---------------===//

#ifndef PPOPT_SUPPORT_NEARESTNAMES_H
#define PPOPT_SUPPORT_NEARESTNAMES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ppopt {

/// Returns the known names that the fewest edits make of `word`: as a rule one,
/// at most three. Returns none if the nearest is not near. `getStem` returns
/// the part of a name that is compared; case is ignored.
inline llvm::SmallVector<llvm::StringRef>
findNearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> known,
            llvm::function_ref<llvm::StringRef(llvm::StringRef)> getStem) {
  llvm::SmallVector<llvm::StringRef> nearest;
  word = getStem(word);
  size_t least = ~size_t(0);
  for (llvm::StringRef name : known) {
    llvm::StringRef stem = getStem(name);
    size_t edits = word.edit_distance_insensitive(stem);
    // More edits than half of the name are not a typo, nor is another name
    // without a letter in common.
    if (edits > least || edits > std::max<size_t>(1, stem.size() / 2) ||
        edits >= std::max(word.size(), stem.size()))
      continue;
    if (edits < least)
      nearest.clear();
    least = edits;
    nearest.push_back(name);
  }
  if (nearest.size() > 3)
    nearest.resize(3);
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
  return askWhether(findNearest(
      word, known, [](llvm::StringRef name) { return name.ltrim('-'); }));
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
