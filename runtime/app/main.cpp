//===- main.cpp - The entry of every compiled executable ------------------===//
//
// The executable itself defines only the program's symbols (ppopt/runtime.h).
//
//===----------------------------------------------------------------------===//

#include "app/executable.h"
#include "device/cpu/team.h"
#include "ppopt/runtime.h"

#include <string>
#include <string_view>
#include <vector>

// Only executables of models with persistent buffers define these.
#pragma weak ppopt_buffers
#pragma weak ppopt_buffers_size

// Only executables of models with outputs define these.
#pragma weak ppopt_prediction_json
#pragma weak ppopt_prediction_json_size
#pragma weak ppopt_prediction_checksum
#pragma weak ppopt_prediction_tasks

// Only executables for GPUs define these.
#pragma weak ppopt_ptx
#pragma weak ppopt_ptx_size
#pragma weak ppopt_cubin
#pragma weak ppopt_cubin_size
#pragma weak ppopt_generation_ptx
#pragma weak ppopt_generation_ptx_size
#pragma weak ppopt_generation_cubin
#pragma weak ppopt_generation_cubin_size
#pragma weak ppopt_prediction_ptx
#pragma weak ppopt_prediction_ptx_size
#pragma weak ppopt_prediction_cubin
#pragma weak ppopt_prediction_cubin_size

static std::string_view bytes(const char *data, const uint64_t *size) {
  return size ? std::string_view(data, *size) : std::string_view();
}

static ppopt::runtime::StoredDocument
document(const char *json, const uint64_t *size, const uint64_t *checksum) {
  return {bytes(json, size), checksum ? *checksum : 0};
}

/// The prefixes are those of the symbols of the document, and of the code.
#define STORED(DOCUMENT, CODE)                                                 \
  {                                                                            \
    document(DOCUMENT##_json, &DOCUMENT##_json_size, &DOCUMENT##_checksum),    \
        CODE##_tasks, {                                                        \
      bytes(CODE##_ptx, &CODE##_ptx_size),                                     \
          bytes(CODE##_cubin, &CODE##_cubin_size)                              \
    }                                                                          \
  }

int main(int argc, char **argv) {
  ppopt::train::CompiledProgram compiled{
      STORED(ppopt_program, ppopt), STORED(ppopt_generation, ppopt_generation),
      STORED(ppopt_prediction, ppopt_prediction),
      bytes(ppopt_buffers, &ppopt_buffers_size)};
  return ppopt::runMain(argv, [&] {
    return ppopt::train::runExecutable(
        compiled, std::vector<std::string>(argv, argv + argc));
  });
}
