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

/// PPOPT_WORDS((a, b)) is "a", "b".
#define PPOPT_WORDS(LIST) PPOPT_WORDS_OF LIST
#define PPOPT_WORDS_OF(...)                                                    \
  PPOPT_SIXTH(__VA_ARGS__, PPOPT_WORDS_5, PPOPT_WORDS_4, PPOPT_WORDS_3,        \
              PPOPT_WORDS_2, PPOPT_WORDS_1)                                    \
  (__VA_ARGS__)
#define PPOPT_SIXTH(A, B, C, D, E, CHOSEN, ...) CHOSEN
#define PPOPT_WORDS_1(A) #A
#define PPOPT_WORDS_2(A, B) #A, #B
#define PPOPT_WORDS_3(A, B, C) #A, #B, #C
#define PPOPT_WORDS_4(A, B, C, D) #A, #B, #C, #D
#define PPOPT_WORDS_5(A, B, C, D, E) #A, #B, #C, #D, #E

/// PPOPT_UNWRAP((a, b)) is a, b.
#define PPOPT_UNWRAP(LIST) PPOPT_UNWRAP_OF LIST
#define PPOPT_UNWRAP_OF(...) __VA_ARGS__

#endif // PPOPT_RUNTIME_SCHEMA_ENUMS_H
