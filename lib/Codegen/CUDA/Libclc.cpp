//===- Libclc.cpp - libclc's functions for NVIDIA's GPUs, as bitcode ------===//

#include "Libclc.h"

asm(".section .rodata\n"
    ".balign 16\n"
    "ppopt_libclc_begin:\n"
    ".incbin \"" PPOPT_LIBCLC "\"\n"
    "ppopt_libclc_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" {
extern const char ppopt_libclc_begin[] __attribute__((visibility("hidden")));
extern const char ppopt_libclc_end[] __attribute__((visibility("hidden")));
}

std::string_view mlir::pp::getLibclc() {
  return {ppopt_libclc_begin,
          static_cast<size_t>(ppopt_libclc_end - ppopt_libclc_begin)};
}
