//===- expect.h - What the protocol excludes ------------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_EXPECT_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_EXPECT_H

#include <stdexcept>
#include <string>

namespace ppopt::asynchronous {

/// Throws std::logic_error if something happened that the protocol excludes: an
/// error in the program, not in what the user gave it. `rule` says what holds
/// otherwise.
inline void expect(bool holds, const char *rule) {
  if (!holds)
    throw std::logic_error(
        std::string("the protocol of asynchronous training is broken: ") +
        rule);
}

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_EXPECT_H
