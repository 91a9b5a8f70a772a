//===- mutate_json.h - Changes to JSON documents ----------------*- C++ -*-===//

#ifndef PPOPT_TEST_FUZZ_MUTATE_JSON_H
#define PPOPT_TEST_FUZZ_MUTATE_JSON_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace fuzz {

/// A document with one to three changes, which follow from `seed`: values
/// replaced by others of the document, by extreme ones or by neighbours,
/// removed, written twice, nested. Nothing where the text is no JSON.
std::optional<nlohmann::json> mutateJson(std::string_view text, unsigned seed);

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MUTATE_JSON_H
