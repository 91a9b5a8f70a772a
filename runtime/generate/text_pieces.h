//===- text_pieces.h - The pieces of text that GPT-2 tokenizes apart ------===//

#ifndef PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H
#define PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H

#include <functional>
#include <memory>
#include <string_view>

namespace ppopt::train {

/// Cuts text into words, numbers, punctuation and space, by the regular
/// expression of GPT-2's encoder; letters and digits are Unicode's.
class TextPieces {
public:
  TextPieces();

  /// Calls `use` for each piece of `text`, in order; together they are the
  /// text. Bytes that are not UTF-8 are pieces of their own.
  void forEach(std::string_view text,
               const std::function<void(std::string_view)> &use) const;

private:
  std::shared_ptr<void> pattern_; ///< pcre2_code
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TEXT_PIECES_H
