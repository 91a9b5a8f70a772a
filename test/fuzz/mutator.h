//===- mutator.h - Mutators of texts as libFuzzer wants them --------------===//

#ifndef PPOPT_TEST_FUZZ_MUTATOR_H
#define PPOPT_TEST_FUZZ_MUTATOR_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace fuzz {

/// Replaces the input by what `mutate` makes of it. Some inputs, and those of
/// which it makes nothing or too much, are changed byte by byte: for the
/// parser's sake.
template <typename Mutate>
size_t mutateText(uint8_t *data, size_t size, size_t most, unsigned seed,
                  const Mutate &mutate) {
  std::optional<std::string> text;
  if (seed % 16 != 0)
    text = mutate(std::string_view(reinterpret_cast<const char *>(data), size));
  if (!text || text->size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::copy(text->begin(), text->end(), data);
  return text->size();
}

} // namespace fuzz

#endif // PPOPT_TEST_FUZZ_MUTATOR_H
