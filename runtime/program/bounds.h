//===- bounds.h - Whether a program's fields are within their bounds ------===//
//
// Which bounds a field has, the schema says (schema/bounds.h).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_BOUNDS_H
#define PPOPT_RUNTIME_PROGRAM_BOUNDS_H

#include "program/path.h"
#include "schema/program.h"

#include <cstdint>
#include <vector>

namespace ppopt::runtime {

/// What the bounds of a field refer to. A list is as long as it will be before
/// its elements are read.
struct Scope {
  const schema::Program *program = nullptr; ///< null: of another document
  /// In whose arena addresses are; null: the first, as nothing says otherwise.
  const schema::Place *place = nullptr;
  bool refusesUnknown = false; ///< fields that the schema does not have
};

// Each throws Error.
void checkInteger(int64_t number, const schema::Bounds &bounds,
                  const Scope &scope, const Path &path);
void checkShape(const std::vector<int64_t> &shape, const Path &path);
void checkLength(size_t length, schema::List list, const Scope &scope,
                 const Path &path);
/// Does nothing for addresses of no program.
void checkAddress(const schema::Address &address, const schema::Bounds &bounds,
                  const Scope &scope, const Path &path);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_BOUNDS_H
