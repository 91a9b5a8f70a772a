//===- target_clones.h - Functions for several widths of vectors ----------===//
//
// The runtime is built for baseline x86-64; a function that begins with
// PPOPT_CLONES is compiled for wider machines too and chosen when the program
// is loaded. What it calls must be inlined to have a part in that.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_TARGET_CLONES_H
#define PPOPT_RUNTIME_DEVICE_CPU_TARGET_CLONES_H

// (Not under the address sanitizer, which is not ready when that choice is
// made.)
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
