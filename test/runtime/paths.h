//===- paths.h - Files of the build and of the sources, for tests ---------===//

#ifndef PPOPT_TEST_RUNTIME_PATHS_H
#define PPOPT_TEST_RUNTIME_PATHS_H

namespace ppopt::test {

extern const char *const fakeDevice; ///< PPOPT_DEVICE_MODULE of a fake device
extern const char *const inputs;     ///< test/runtime/Inputs
extern const char *const programs;   ///< seeds of the fuzz target `program`

} // namespace ppopt::test

#endif // PPOPT_TEST_RUNTIME_PATHS_H
