//===- settings.h - What the environment asks of the fake device ----------===//

#ifndef PPOPT_TEST_FAKE_SETTINGS_H
#define PPOPT_TEST_FAKE_SETTINGS_H

#include <cstdint>
#include <string>

namespace ppopt::fake {

/// docs/adding-a-device.md lists the variables.
struct Settings {
  uint64_t seed = 0;
  std::string report; ///< a file; empty: none
  // The call to ignore, from 1; 0: none.
  int64_t dropWait = 0, dropSynchronize = 0;
};

/// Throws Error if a variable has a value that means nothing.
Settings readSettings();

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_SETTINGS_H
