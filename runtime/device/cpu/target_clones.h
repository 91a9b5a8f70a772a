//===- target_clones.h - Functions for several vector widths --------------===//
//
// The runtime is built for baseline x86-64. A function that begins with
// PPOPT_CLONES is also compiled for machines with wider vectors; the loader
// chooses a version. Its callees must be inlined to be compiled with it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TARGET_CLONES_H
#define PPOPT_RUNTIME_DEVICE_CPU_TARGET_CLONES_H

// (Not with the address sanitizer, which is not initialized when the loader
// chooses.)
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PPOPT_CLONES
#endif
#endif
#if !defined(PPOPT_CLONES) && defined(__x86_64__)
#define PPOPT_CLONES                                                           \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#elif !defined(PPOPT_CLONES)
#define PPOPT_CLONES
#endif

#endif // PPOPT_RUNTIME_DEVICE_CPU_TARGET_CLONES_H
