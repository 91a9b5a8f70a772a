//===- program.h - Reads the programs of an executable --------------------===//
//
// The JSON document of an executable (docs/program.md), read once at start into
// the structs of the schema. What is missing, of the wrong type or beyond the
// limits that protect memory throws an `Error` that names its path ("program:
// parameters[3].init.std: ..."). That a program means what the model and the
// plan mean, its compiler has checked. Unknown fields are ignored; "abi"
// decides compatibility.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_H

#include "schema/program.h"

#include <optional>
#include <string>
#include <string_view>

namespace ppopt::runtime {

using schema::Action;
using schema::ActionKind;
using schema::Address;
using schema::byteSize;
using schema::Count;
using schema::DeadRange;
using schema::elementCount;
using schema::ElementType;
using schema::Generation;
using schema::IdRange;
using schema::IndexedPart;
using schema::Initializer;
using schema::InitialValues;
using schema::Input;
using schema::Kernel;
using schema::Matmul;
using schema::MeshAxis;
using schema::Operation;
using schema::OptimizerState;
using schema::Output;
using schema::Parameter;
using schema::PersistentBuffer;
using schema::Place;
using schema::PlaceCheck;
using schema::PlaceInput;
using schema::PlaceMetric;
using schema::PlaceParameter;
using schema::Plan;
using schema::Predicted;
using schema::Program;
using schema::Region;
using schema::spell;
using schema::Task;
using schema::TaskCollective;
using schema::TaskKind;
using schema::Transfer;

/// An address in the arena of a place.
struct PlaceAddress {
  int64_t place = 0;
  Address address;
};

/// A document in an executable.
struct StoredDocument {
  std::string_view json;
  uint64_t checksum; ///< 64-bit XXH3 of it
};

/// Reads the document. Throws Error. Offsets are aligned and inside their
/// arena, indices exist, and each wait has a start.
Program readProgram(const StoredDocument &document);
/// Without a checksum.
Program readProgram(std::string_view json);

/// The second document of an executable: a program that generates, or the
/// reason why the compiler could not make one.
struct GenerationDocument {
  std::optional<Program> program; ///< has `generation`
  std::string refused;            ///< the reason, if there is no program
};

/// Throws Error, as readProgram does.
GenerationDocument readGeneration(const StoredDocument &document);
GenerationDocument readGeneration(std::string_view json);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_H
