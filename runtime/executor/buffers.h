//===- buffers.h - Addresses of the program's tensors ---------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
#define PPOPT_RUNTIME_EXECUTOR_BUFFERS_H

#include "program/program.h"

#include <cstdint>
#include <vector>

namespace ppopt::runtime {

/// A copy of an input or a parameter of the program.
struct Buffer {
  int64_t index; ///< of Program::inputs or Program::parameters
  char *data;
};

/// Returns the inputs that a place reads from its `arena`.
std::vector<Buffer> inputBuffers(const Place &place, char *arena);

/// Returns the parameters that a place holds in its `arena`.
std::vector<Buffer> parameterBuffers(const Place &place, char *arena);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
