//===- staleness.h - How far pulled parameters were behind ----------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_STALENESS_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_STALENESS_H

#include <algorithm>
#include <cstdint>

namespace ppopt::asynchronous {

/// Of the answers to pulls, in steps.
struct Staleness {
  int64_t least = 0, most = 0, sum = 0, answers = 0;

  double mean() const {
    return answers > 0 ? double(sum) / double(answers) : 0;
  }
  void add(const Staleness &other) {
    least = answers == 0 ? other.least : std::min(least, other.least);
    most = std::max(most, other.most);
    sum += other.sum;
    answers += other.answers;
  }
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_STALENESS_H
