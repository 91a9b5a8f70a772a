//===- tokenizer.h - Converts text to tokens and back ---------------------===//

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

/// Tokens are the numbers [0, size()). Each represents a string of bytes.
class Tokenizer {
public:
  virtual ~Tokenizer();

  virtual int64_t size() const = 0;

  /// Encodes any bytes, not only UTF-8. Throws Error if a byte has no token.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;

  /// Returns the bytes of a token, which may be only part of a character.
  virtual std::string_view decode(int32_t token) const = 0;

  /// Returns the first token of a text without a prompt.
  virtual int32_t first() const = 0;
};

/// Each byte is a token. A text without a prompt begins with a newline.
class ByteTokenizer : public Tokenizer {
public:
  ByteTokenizer();
  int64_t size() const override { return 256; }
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string_view decode(int32_t token) const override;
  int32_t first() const override { return '\n'; }

private:
  std::string bytes_; ///< all byte values, in order
};

/// Splits a byte stream at character boundaries. Keeps the bytes of an
/// incomplete character until it is complete. Invalid UTF-8 passes unchanged.
class WholeCharacters {
public:
  /// Adds `bytes` and returns the text that can be shown now.
  std::string add(std::string_view bytes);

  /// Returns the remaining bytes at the end of the text.
  std::string finish();

private:
  std::string kept_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TOKENIZER_H
