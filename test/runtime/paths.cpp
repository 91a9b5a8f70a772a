//===- paths.cpp - Files of the build and of the sources, for tests -------===//
//
// The only source that is not taken from a compiler cache in another clone.
//
//===----------------------------------------------------------------------===//

#include "paths.h"

const char *const ppopt::test::fakeDevice = PPOPT_FAKE_DEVICE;
const char *const ppopt::test::inputs = PPOPT_TEST_INPUTS;
const char *const ppopt::test::programs = PPOPT_FUZZ_SEEDS;
