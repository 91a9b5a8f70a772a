//===- text_pieces.h - Splits text as GPT-2's encoder does ----------------===//

#ifndef PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H
#define PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H

#include <functional>
#include <memory>
#include <string_view>

namespace ppopt::train {

/// Splits text into words, numbers, punctuation and space with the regular
/// expression of GPT-2's encoder. Letters and digits are those of Unicode.
class TextPieces {
public:
  TextPieces();

  /// Calls `use` for each piece of `text`, in order. Concatenated, the pieces
  /// are `text`. Bytes that are not UTF-8 are separate pieces.
  void forEach(std::string_view text,
               const std::function<void(std::string_view)> &use) const;

private:
  std::shared_ptr<void> pattern_; ///< pcre2_code
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H
