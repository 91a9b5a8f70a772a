//===- nearest_name.cpp - Suggests a name for a misspelled one ------------===//

#include "base/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace ppopt::train {
namespace {

/// Returns the least number of characters to insert, remove, replace, or swap
/// with the next one.
size_t editDistance(const std::string &a, const std::string &b) {
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

/// Removes what people spell in different ways.
std::string normal(const std::string &name) {
  std::string text =
      name.substr(std::min(name.find_first_not_of('-'), name.size()));
  for (char &c : text)
    c = c == '_'
            ? '-'
            : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

} // namespace

std::string nearestName(const std::string &name,
                        const std::vector<std::string> &known) {
  std::string wanted = normal(name), nearest;
  // A word with more other letters is another one.
  size_t least = std::max<size_t>(1, (wanted.size() + 1) / 3) + 1;
  for (const std::string &candidate : known) {
    size_t distance = editDistance(wanted, normal(candidate));
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace ppopt::train
