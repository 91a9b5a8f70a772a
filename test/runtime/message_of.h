//===- message_of.h - What an exception says ------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_MESSAGE_OF_H
#define PPOPT_TEST_RUNTIME_MESSAGE_OF_H

#include <string>

namespace ppopt::comm::test {

/// Of the exception of that type that `body` throws.
template <typename Exception, typename Body>
std::string messageOf(const Body &body) {
  try {
    body();
  } catch (const Exception &error) {
    return error.what();
  }
  return "no exception";
}

} // namespace ppopt::comm::test

#endif // PPOPT_TEST_RUNTIME_MESSAGE_OF_H
