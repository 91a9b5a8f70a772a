//===- nearest_name.cpp - Suggests a name for a misspelled one ------------===//

#include "base/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace ppopt::train {
namespace {

size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

} // namespace

std::string nearestName(const std::string &name,
                        const std::vector<std::string> &known) {
  std::string nearest;
  size_t least = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string &candidate : known) {
    size_t distance = editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

} // namespace ppopt::train
