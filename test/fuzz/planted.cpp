//===- planted.cpp - A target with a bug, which must be found -------------===//
//
// Reads one byte past the end of its input if that begins with "bug", which
// run.py must report. Contains no code of ppopt.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static volatile uint8_t sink;
  if (size == 3 && data[0] == 'b' && data[1] == 'u' && data[2] == 'g')
    sink = data[size];
  return sink & 0;
}
