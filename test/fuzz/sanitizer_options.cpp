//===- sanitizer_options.cpp - How the sanitizers of fuzz targets behave --===//

// Whether a target is started by a script or by hand, it sees the same.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}

extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
