//===- PlanChoices.h - Plan options that a table declares -----------------===//

#ifndef PPOPT_DIALECT_PP_PLANCHOICES_H
#define PPOPT_DIALECT_PP_PLANCHOICES_H

#include "schema/plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::pp {

namespace schema = ::ppopt::schema;
#define PLAN_CHOICE(FIELD, TYPE, ...) using schema::TYPE;
#include "schema/plan_options.def"

/// The options of schema/plan_options.def, with their defaults.
struct PlanChoices {
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, ...) TYPE FIELD = TYPE::DEFAULT;
#define PLAN_SWITCH(FIELD, ...) bool FIELD = false;
#define PLAN_LEVEL(FIELD, ...) int64_t FIELD = 0;
#define PLAN_NUMBER(FIELD, ...) int64_t FIELD = 0;
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, ...) int64_t FIELD = DEFAULT;
#include "schema/plan_options.def"
};

/// Returns the enumerator that a word spells.
template <typename E> std::optional<E> parseChoice(llvm::StringRef word) {
  return schema::parseWord<E>(std::string_view(word.data(), word.size()));
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_PLANCHOICES_H
