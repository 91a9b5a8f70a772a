//===- parameter-map.cpp - Fuzzes the maps of --init-map ------------------===//
//
// The input is a map's text. Where it fits the parameters of a small GPT, each
// must have a tensor of its own that is not ignored.
//
//===----------------------------------------------------------------------===//

#include "mutate_json.h"
#include "train_program.h"

#include "base/error.h"
#include "checkpoint/parameter_map.h"

#include <cstdlib>
#include <set>

using namespace ppopt;

/// Parameters of a GPT, twelve layers of some.
static runtime::Program makeProgram() {
  auto program = runtime::readProgram(next_token::program(1, 1).dump());
  runtime::Parameter model = program.parameters[0];
  program.parameters.clear();
  auto add = [&](const std::string &name, std::vector<int64_t> shape) {
    model.name = name;
    model.shape = std::move(shape);
    program.parameters.push_back(model);
  };
  add("wte", {8, 4});
  for (int layer = 0; layer < 12; ++layer) {
    std::string name = "h." + std::to_string(layer);
    add(name + ".ln_1.weight", {4});
    add(name + ".attn.qkv.weight", {4, 12});
  }
  return program;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const runtime::Program program = makeProgram();
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    train::ParameterMap map("map.json", text);
    std::set<std::string> names;
    for (const train::ParameterTensor &tensor : map.tensorsOf(program))
      if (!names.insert(tensor.name).second || map.ignores(tensor.name))
        std::abort();
    if (names.size() != program.parameters.size())
      std::abort();
  } catch (const runtime::Error &) {
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              [](const nlohmann::json &document) {
                                return fuzz::printJson(document, 1);
                              });
}
