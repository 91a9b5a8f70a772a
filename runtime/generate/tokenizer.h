//===- tokenizer.h - Text as tokens and back ------------------------------===//

#ifndef PPOPT_RUNTIME_GENERATE_TOKENIZER_H
#define PPOPT_RUNTIME_GENERATE_TOKENIZER_H

#include "base/error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

using runtime::Error;

/// Tokens are the numbers [0, size()); each stands for some bytes.
class Tokenizer {
public:
  virtual ~Tokenizer();

  virtual int64_t size() const = 0;

  /// Any bytes, those that are not UTF-8 too. Throws Error where a byte has no
  /// token.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// The bytes of a token; they may be a part of a character only.
  virtual std::string_view decode(int32_t token) const = 0;

  /// What a text without a beginning begins with.
  virtual int32_t first() const = 0;
};

/// A token is a byte; a text begins with a new line.
class ByteTokenizer : public Tokenizer {
public:
  ByteTokenizer();
  int64_t size() const override { return 256; }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string_view decode(int32_t token) const override;
  int32_t first() const override { return '\n'; }

private:
  std::string bytes_; ///< all, in order
};

/// Passes text on in whole characters: the bytes of a character that is not
/// complete yet are kept until it is. Bytes that cannot be UTF-8 pass as they
/// are.
class WholeCharacters {
public:
  /// What can be shown once `bytes` have come.
  std::string add(std::string_view bytes);

  /// What is left at the end of the text.
  std::string finish();

private:
  std::string kept_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TOKENIZER_H
