//===- buffers.cpp - Addresses of the program's tensors -------------------===//

#include "executor/buffers.h"

namespace ppopt::runtime {

std::vector<Buffer> inputBuffers(const Place &place, char *arena) {
  std::vector<Buffer> buffers;
  for (const PlaceInput &input : place.inputs)
    buffers.push_back({input.input, arena + input.address.offset()});
  return buffers;
}

std::vector<Buffer> parameterBuffers(const Place &place, char *arena) {
  std::vector<Buffer> buffers;
  for (const PlaceParameter &held : place.parameters)
    buffers.push_back({held.parameter, arena + held.address.offset()});
  return buffers;
}

} // namespace ppopt::runtime
