//===- nearest_names.h - Names that a misspelled one may mean -------------===//

#ifndef PPOPT_NEAREST_NAMES_H
#define PPOPT_NEAREST_NAMES_H

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt {

/// Removes what people spell in different ways: case, leading dashes, and '_'
/// for '-'.
inline std::string normalName(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text(name);
  for (char &c : text)
    c = c == '_'
            ? '-'
            : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns the least number of characters to insert, remove, replace, or swap
/// with the next one.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, previous, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::move(previous);
    previous = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j - 1] + (a[i - 1] != b[j - 1]),
                         previous[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Returns the numbers of the known names that the fewest edits make of `word`,
/// as a rule one; none if the nearest is not near.
inline std::vector<size_t>
nearestNames(std::string_view word,
             const std::vector<std::string_view> &known) {
  std::string wanted = normalName(word);
  std::vector<size_t> nearest;
  size_t least = ~size_t(0);
  for (size_t i = 0; i < known.size(); ++i) {
    std::string name = normalName(known[i]);
    size_t edits = editDistance(wanted, name);
    // More edits than half of the name are not a typo, nor is another name
    // without a letter in common.
    if (edits > least || edits > std::max<size_t>(1, name.size() / 2) ||
        edits >= std::max(wanted.size(), name.size()))
      continue;
    if (edits < least)
      nearest.clear();
    least = edits;
    nearest.push_back(i);
  }
  return nearest;
}

/// Returns the nearest of `known`, the first of several; an empty string if
/// none is near.
inline std::string nearestName(const std::string &word,
                               const std::vector<std::string> &known) {
  std::vector<size_t> nearest =
      nearestNames(word, {known.begin(), known.end()});
  return nearest.empty() ? "" : known[nearest.front()];
}

} // namespace ppopt

#endif // PPOPT_NEAREST_NAMES_H
