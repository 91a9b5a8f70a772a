//===- SchemaWords.h - Enumerators of the program's schema ----------------===//

#ifndef PPOPT_PROGRAM_SCHEMAWORDS_H
#define PPOPT_PROGRAM_SCHEMAWORDS_H

#include "ppopt/Dialect/PP/PP.h"

#include "schema/program.h"

namespace mlir::pp {

namespace schema = ::ppopt::schema;

/// Returns the enumerator that the word of an IR's enumerator spells. Verifiers
/// allow no words but those of the schema.
template <typename E> E toSchema(StringRef word) {
  std::optional<E> value =
      schema::parseWord<E>(std::string_view(word.data(), word.size()));
  assert(value && "the schema lacks a word of the IR");
  return *value;
}

/// Returns the element type of a tensor, a memref or a scalar.
inline schema::ElementType getSchemaType(Type type) {
  std::string word;
  llvm::raw_string_ostream(word) << getElementTypeOrSelf(type);
  return toSchema<schema::ElementType>(word);
}

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_SCHEMAWORDS_H
