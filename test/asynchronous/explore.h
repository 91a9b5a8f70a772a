//===- explore.h - Every order of events ----------------------------------===//
//
// Breadth first: level d has the states after d events. A state contains all
// that decides what may follow, the properties' memory of the past included. If
// a level has no states, every run has ended after as many events at most.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_EXPLORE_H
#define PPOPT_TEST_ASYNCHRONOUS_EXPLORE_H

#include "system.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ppopt::asynchronous::test {

struct Exploration {
  size_t states = 0;
  size_t transitions = 0;
  size_t levels = 0; ///< events of the longest run
  size_t ends = 0;   ///< states in which the run is over
  /// Empty, or the property that is broken.
  std::string violation;
  /// If one is broken: a shortest run that breaks it, an event a line.
  std::vector<std::string> trace;
  bool isWhole = false; ///< else there are more states than `most`, or a
                        ///< violation
};

enum class Orders { All, Fewer };

/// Explores until a property is broken or all states are known. `repeated`: the
/// recorded run that the run repeats; null: none.
Exploration explore(const Scenario &scenario, const Mistake &mistake,
                    size_t most, Orders orders = Orders::All,
                    const ReplayLog *repeated = nullptr);

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_EXPLORE_H
