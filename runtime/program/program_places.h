//===- program_places.h - Reads the entries of "places" -------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_PLACES_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_PLACES_H

#include "program/program.h"
#include "program/program_fields.h"

namespace ppopt::runtime {

/// Reads an element type: "f32", ...
ElementType readType(const Field &field);

/// Reads an entry of "places", which must be the one with this number.
/// `program` is complete except its places.
Place readPlace(const Field &field, const Program &program, int64_t number);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_PLACES_H
