//===- version.h - Which runtime is linked --------------------------------===//

#ifndef PPOPT_VERSION_H
#define PPOPT_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/// The release of the linked runtime, e.g. "0.1.0".
const char *ppopt_runtime_version(void);

/// The PPOPT_ABI_VERSION that the linked runtime was built with.
int ppopt_runtime_abi(void);

#ifdef __cplusplus
}
#endif

#endif // PPOPT_VERSION_H
