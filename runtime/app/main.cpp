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

// Only executables for GPUs define these.
#pragma weak ppopt_ptx
#pragma weak ppopt_ptx_size
#pragma weak ppopt_cubin
#pragma weak ppopt_cubin_size
#pragma weak ppopt_generation_ptx
#pragma weak ppopt_generation_ptx_size
#pragma weak ppopt_generation_cubin
#pragma weak ppopt_generation_cubin_size

static std::string_view bytes(const char *data, const uint64_t *size) {
  return size ? std::string_view(data, *size) : std::string_view();
}

int main(int argc, char **argv) {
  ppopt::train::CompiledProgram compiled{
      {{ppopt_program_json, ppopt_program_json_size}, ppopt_program_checksum},
      ppopt_tasks,
      {{ppopt_generation_json, ppopt_generation_json_size},
       ppopt_generation_checksum},
      ppopt_generation_tasks,
      bytes(ppopt_buffers, &ppopt_buffers_size),
      {bytes(ppopt_ptx, &ppopt_ptx_size),
       bytes(ppopt_cubin, &ppopt_cubin_size)},
      {bytes(ppopt_generation_ptx, &ppopt_generation_ptx_size),
       bytes(ppopt_generation_cubin, &ppopt_generation_cubin_size)}};
  return ppopt::runMain(argv, [&] {
    return ppopt::train::runExecutable(
        compiled, std::vector<std::string>(argv, argv + argc));
  });
}
