//===- checkpoint_writers.cpp - Which rank writes a tensor ----------------===//

#include "schema/checkpoint_writers.h"

#include "schema/share_by_size.h"

namespace ppopt::schema {

std::vector<WrittenTensor> assignWriters(const Program &program) {
  std::vector<WrittenTensor> tensors;
  for (const Place &place : program.places)
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      const Parameter &parameter = program.parameters[i];
      if (parameter.places.front() != place.place)
        continue;
      int64_t number = int64_t(i), bytes = parameter.globalBytes();
      tensors.push_back({{number}, bytes});
      for (size_t j = 0; j < program.ownedParameter(number).states.size(); ++j)
        tensors.push_back({{number, TensorOf::state, j}, bytes});
    }
  if (program.local)
    return tensors;
  std::vector<SizedItem> items;
  for (const WrittenTensor &each : tensors)
    items.push_back({each.bytes, findHolders(program, each.tensor)});
  std::vector<int64_t> writers = assignBySize(items, program.plan.ranks());
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].writer = writers[i];
  return tensors;
}

} // namespace ppopt::schema
