//===- planted.h - Which bug is planted -----------------------------------===//

#ifndef PPOPT_TEST_PLANS_PLANTED_H
#define PPOPT_TEST_PLANS_PLANTED_H

#include <cstdlib>
#include <string_view>

/// Returns whether the environment's PLANTED is this bug.
inline bool isPlanted(std::string_view bug) {
  const char *planted = std::getenv("PLANTED");
  return planted && bug == planted;
}

#endif // PPOPT_TEST_PLANS_PLANTED_H
