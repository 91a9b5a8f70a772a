//===- buffers.h - Where the program's tensors lie in memory --------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
#define PPOPT_RUNTIME_EXECUTOR_BUFFERS_H

#include "program/program.h"

#include <cstdint>
#include <vector>

namespace ppopt::runtime {

/// A copy of an input or a parameter of the program.
struct Buffer {
  int64_t index; ///< in Program::inputs or Program::parameters
  char *data;
};

/// The inputs that a place reads, `arena` being its arena.
std::vector<Buffer> inputBuffers(const Place &place, char *arena);

/// The parameters that a place holds.
std::vector<Buffer> parameterBuffers(const Place &place, char *arena);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_BUFFERS_H
