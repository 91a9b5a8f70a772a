//===- compiler_sanitizer_options.cpp - For targets of the compiler -------===//

// Where they are built with the address sanitizer: libMLIR and libLLVM are not
// instrumented, and would use unseen what their inline code poisons.
extern "C" const char *__asan_default_options() {
  return "detect_leaks=0:allow_user_poisoning=0:detect_container_overflow=0";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
