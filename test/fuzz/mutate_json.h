//===- mutate_json.h - Changes to JSON documents --------------------------===//

#ifndef PPOPT_TEST_FUZZ_MUTATE_JSON_H
#define PPOPT_TEST_FUZZ_MUTATE_JSON_H

#include "mutator.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace fuzz {

/// A document with one to three changes, which follow from `seed`: values
/// replaced by others of the document, by extreme ones or by neighbours,
/// removed, written twice, nested. Nothing where the text is no JSON.
std::optional<nlohmann::json> mutateJson(std::string_view text, unsigned seed);

/// A document as text, whatever is in its strings; `indent` as dump() has it.
inline std::string printJson(const nlohmann::json &document, int indent) {
  return document.dump(indent, ' ', false,
                       nlohmann::json::error_handler_t::replace);
}

/// mutateText by mutateJson; `print` makes the text.
template <typename Print>
size_t mutateJsonText(uint8_t *data, size_t size, size_t most, unsigned seed,
                      const Print &print) {
  return mutateText(data, size, most, seed,
                    [&](std::string_view text) -> std::optional<std::string> {
                      auto document = mutateJson(text, seed);
                      return document ? std::optional(print(*document))
                                      : std::nullopt;
                    });
}

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MUTATE_JSON_H
