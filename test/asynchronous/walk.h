//===- walk.h - One random order of events --------------------------------===//

#ifndef PPOPT_TEST_ASYNCHRONOUS_WALK_H
#define PPOPT_TEST_ASYNCHRONOUS_WALK_H

#include "system.h"

#include <cstdint>
#include <string>

namespace ppopt::asynchronous::test {

/// Runs a scenario to its end, in an order that follows from `seed`: some ranks
/// are many times slower than others, and some kinds of events are. Returns
/// what
/// --record writes. Throws Violation, unless it is `blind`.
std::string walk(const Scenario &scenario, const Mistake &mistake,
                 uint64_t seed, const ReplayLog *repeated = nullptr,
                 bool blind = false);

} // namespace ppopt::asynchronous::test

#endif // PPOPT_TEST_ASYNCHRONOUS_WALK_H
