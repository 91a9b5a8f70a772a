//===- tokenizer.cpp - Byte tokens and whole characters -------------------===//

#include "generate/tokenizer.h"

#include <algorithm>
#include <utility>

namespace ppopt::train {

Tokenizer::~Tokenizer() = default;

ByteTokenizer::ByteTokenizer() {
  for (int byte = 0; byte < 256; ++byte)
    bytes_ += static_cast<char>(byte);
}

std::vector<int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  for (char c : text)
    tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string_view ByteTokenizer::decode(int32_t token) const {
  return std::string_view(bytes_).substr(token, 1);
}

namespace {

/// Returns the length of the UTF-8 character that begins with `lead`; 1 if none
/// does.
size_t lengthAfter(unsigned char lead) {
  if (lead >= 0xC2 && lead < 0xE0)
    return 2;
  if (lead >= 0xE0 && lead < 0xF0)
    return 3;
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 1;
}

bool continues(char c) { return (static_cast<unsigned char>(c) >> 6) == 2; }

/// Returns the number of bytes of an incomplete character at the end of the
/// text.
size_t incompleteBytes(const std::string &text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    unsigned char byte = text[text.size() - back];
    if (!continues(static_cast<char>(byte)))
      return lengthAfter(byte) > back ? back : 0;
  }
  return 0;
}

} // namespace

std::string WholeCharacters::add(std::string_view bytes) {
  kept_ += bytes;
  std::string whole = kept_.substr(0, kept_.size() - incompleteBytes(kept_));
  kept_.erase(0, whole.size());
  return whole;
}

std::string WholeCharacters::finish() { return std::exchange(kept_, {}); }

} // namespace ppopt::train
