//===- program.cpp - Fuzzes the program document --------------------------===//
//
// The input is the JSON that an executable carries. What is accepted is
// described, as by --describe, and its tiles lie in their parameters.
//
//===----------------------------------------------------------------------===//

#include "program/program.h"
#include "mutate_json.h"

#include "base/error.h"
#include "observe/describe.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace ppopt;
  try {
    runtime::Program program =
        runtime::readProgram({reinterpret_cast<const char *>(data), size});
    train::describeProgram(program, {"./train"});
    program.unusedChannel();
    program.largestArena();
    for (const runtime::Parameter &parameter : program.parameters) {
      geometry::Tile tile =
          schema::tileOf(parameter, program.plan, program.plan.ranks() - 1);
      if (tile.globalIndex(tile.elements() - 1) >= parameter.globalElements())
        std::abort();
    }
  } catch (const runtime::Error &) {
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              [](const nlohmann::json &document) {
                                return fuzz::printJson(document, -1);
                              });
}
