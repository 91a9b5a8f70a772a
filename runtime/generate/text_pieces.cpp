//===- text_pieces.cpp - Splits text as GPT-2's encoder does --------------===//

#include "generate/text_pieces.h"

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace ppopt::train {
namespace {

using runtime::Error;

/// GPT-2's pattern, with \s spelled as the characters that are White_Space in
/// Unicode, because PCRE2's \s includes others.
constexpr char kPattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\t-\r\x{85}\p{Z}\p{L}\p{N}]+)"
    R"(|[\t-\r\x{85}\p{Z}]+(?![^\t-\r\x{85}\p{Z}])|[\t-\r\x{85}\p{Z}]+)";

std::string describe(int error) {
  char text[128];
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR *>(text),
                          sizeof text);
  return text;
}

class Matcher {
public:
  explicit Matcher(const pcre2_code *code)
      : code_(code), data_(pcre2_match_data_create_from_pattern(code, nullptr),
                           pcre2_match_data_free) {}

  /// Returns the number of bytes before the first that is not UTF-8.
  size_t validBytes(std::string_view text) {
    int found = match(text, 0, 0);
    bool isInvalid =
        found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21;
    return isInvalid ? pcre2_get_startchar(data_.get()) : text.size();
  }

  /// Returns the end of the piece that begins at `begin` in valid text.
  size_t endOfPiece(std::string_view text, size_t begin) {
    // Without the option each call would validate the whole text.
    int found = match(text, begin, PCRE2_NO_UTF_CHECK);
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data_.get());
    if (found < 0 || range[0] != begin || range[1] <= begin)
      throw Error("PCRE2 cannot split the text at byte {}: {}", begin,
                  found < 0 ? describe(found) : "no piece begins there");
    return range[1];
  }

private:
  int match(std::string_view text, size_t from, uint32_t options) {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()),
                       text.size(), from, options, data_.get(), nullptr);
  }

  const pcre2_code *code_;
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data_;
};

} // namespace

TextPieces::TextPieces() {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code *compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), sizeof kPattern - 1,
                    PCRE2_UTF, &error, &at, nullptr);
  if (!compiled)
    throw Error("PCRE2 cannot split text as GPT-2 does: {}", describe(error));
  pattern_.reset(compiled, [](void *code) {
    pcre2_code_free(static_cast<pcre2_code *>(code));
  });
}

void TextPieces::forEach(
    std::string_view text,
    const std::function<void(std::string_view)> &use) const {
  const pcre2_code *code = static_cast<const pcre2_code *>(pattern_.get());
  Matcher matcher(code);
  while (!text.empty()) {
    size_t valid = matcher.validBytes(text);
    for (size_t done = 0; done < valid;) {
      size_t end = matcher.endOfPiece(text.substr(0, valid), done);
      use(text.substr(done, end - done));
      done = end;
    }
    if (valid < text.size())
      use(text.substr(valid++, 1));
    text.remove_prefix(valid);
  }
}

} // namespace ppopt::train
