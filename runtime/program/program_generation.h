//===- program_generation.h - Reads the part for generation ---------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_GENERATION_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_GENERATION_H

#include "program/program.h"
#include "program/program_fields.h"

namespace ppopt::runtime {

/// Reads the field "generation" of a program; the rest of `program` is
/// complete.
Generation readGeneration(const Field &field, const Program &program);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_GENERATION_H
