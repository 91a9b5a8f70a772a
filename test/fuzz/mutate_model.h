//===- mutate_model.h - Changes to the text of a model --------------------===//
//
// Changes after which most models still are models, so that they get beyond
// the parser: plain C++ on text, without MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_FUZZ_MUTATE_MODEL_H
#define PPOPT_TEST_FUZZ_MUTATE_MODEL_H

#include <string>

namespace fuzz {

/// A model with one to four changes, which follow from `seed`: ops put between
/// a value and its use, operands and ops exchanged, a number changed in one
/// place or in all, element types, attributes, lines, and the flags of the
/// first line.
std::string mutateModel(const std::string &text, unsigned seed);

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MUTATE_MODEL_H
