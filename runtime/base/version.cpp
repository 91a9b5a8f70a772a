//===- version.cpp - The version of the runtime ---------------------------===//

#include "ppopt/version.h"
#include "ppopt/runtime.h"

const char *ppopt_runtime_version(void) { return PPOPT_RUNTIME_VERSION; }

int ppopt_runtime_abi(void) { return PPOPT_ABI_VERSION; }
