//===- main.cpp - The entry of every compiled executable ------------------===//
//
// The executable itself defines only the program's symbols (ppopt/runtime.h).
//
//===----------------------------------------------------------------------===//

#include "app/executable.h"
#include "device/cpu/team.h"
#include "ppopt/runtime.h"

#include <string>
#include <vector>

int main(int argc, char **argv) {
  ppopt::limitSpinning(argv);
  ppopt::train::CompiledProgram compiled{
      {ppopt_program_json, ppopt_program_json_size},
      ppopt_tasks,
      {ppopt_generation_json, ppopt_generation_json_size},
      ppopt_generation_tasks};
  return ppopt::train::runExecutable(
      compiled, std::vector<std::string>(argv, argv + argc));
}
