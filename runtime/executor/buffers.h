//===- buffers.h - Addresses of the program's tensors ---------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
#define PPOPT_RUNTIME_EXECUTOR_BUFFERS_H

#include "device/device.h"
#include "geometry/tile.h"
#include "program/program.h"

#include <cstdint>
#include <vector>

namespace ppopt::runtime {

/// A copy of an input of the program.
template <typename Pointer> struct BufferAt {
  int64_t index; ///< of Program::inputs
  Pointer data;
};
using Buffer = BufferAt<device::DevicePointer>;
using HostBuffer = BufferAt<char *>;

/// Returns the inputs that a place reads from its `arena`.
template <typename Pointer>
std::vector<BufferAt<Pointer>> inputBuffers(const Place &place, Pointer arena) {
  std::vector<BufferAt<Pointer>> buffers;
  for (const PlaceInput &input : place.inputs)
    buffers.push_back({input.input, arena + input.address.offset()});
  return buffers;
}

/// What a rank has of a parameter of the program.
struct ParameterBuffer {
  int64_t index; ///< of Program::parameters
  geometry::TilePart elements;
  device::DevicePointer data; ///< of the first of them
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
