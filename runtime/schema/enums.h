//===- enums.h - Enumerations and the words that documents spell them with ===//

#ifndef PPOPT_RUNTIME_SCHEMA_ENUMS_H
#define PPOPT_RUNTIME_SCHEMA_ENUMS_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ppopt::schema {

/// A specialization has `static constexpr const char *words[]`: the spelling of
/// each enumerator, in the order of their values, which count from 0.
template <typename E> struct Words;

/// Returns how documents spell an enumerator.
template <typename E> constexpr const char *spell(E value) {
  return Words<E>::words[static_cast<size_t>(value)];
}

/// Returns the enumerator that a word spells.
template <typename E> std::optional<E> parseWord(std::string_view word) {
  for (size_t i = 0; i < std::size(Words<E>::words); ++i)
    if (word == Words<E>::words[i])
      return static_cast<E>(i);
  return std::nullopt;
}

/// Returns "f32, f64, bf16".
template <typename E> std::string listWords() {
  std::string list;
  for (const char *word : Words<E>::words)
    list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_ENUMS_H
