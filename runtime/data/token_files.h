//===- token_files.h - Training text as streams of tokens -----------------===//
//
// Each file is one span of tokens in one of these formats:
//
//  - llm.c's .bin files, recognized by their header (256 int32: magic, version,
//    number of tokens): magic 20240520, version 1: uint16 tokens (GPT-2); magic
//    20240801, version 7: uint32 tokens (Llama 3);
//  - raw little-endian uint16 (nanoGPT), if the user asks for it;
//  - otherwise bytes, one token per byte.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_TOKEN_FILES_H
#define PPOPT_RUNTIME_DATA_TOKEN_FILES_H

#include "data/data_files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// The format of files without an llm.c header.
enum class TokenFormat { Bytes, Uint16 };

/// The position of the tokens in a file.
struct TokenSpan {
  uint64_t firstByte = 0;
  uint64_t tokens = 0;
  uint32_t width = 1; ///< bytes per token
};

/// The number of leading bytes that determine the format of a file.
inline constexpr uint64_t kTokenHeadBytes = 12;

/// Returns the span of a file of `fileBytes` bytes that begins with `head`.
/// Throws Error (one line) if the header is wrong.
TokenSpan findTokens(const std::string &path, TokenFormat format,
                     const unsigned char *head, uint64_t fileBytes);

/// The values of an input that a model can look up.
struct TokenRange {
  bool bounded = false;
  int64_t size = 0; ///< if bounded: values are in [0, size)
  bool hasIgnored = false;
  int64_t ignored = 0; ///< if hasIgnored: a value that is also allowed
};

/// How files are split into samples. Window k of a file has its tokens
/// [k·stride, k·stride + tokens); a window never extends past the end.
struct WindowShape {
  uint64_t tokens, stride;
};

/// All windows of a set of files, numbered in the order of the paths and, in a
/// file, of their first token.
class TokenWindows {
public:
  /// `paths` as in listFiles. Throws Error if there is no data or no file is
  /// long enough for a window; the message names `flag` ("--data").
  TokenWindows(const std::vector<std::string> &paths, TokenFormat format,
               WindowShape shape, const std::string &flag);

  uint64_t count() const { return count_; }
  /// The tokens of the files that are read.
  uint64_t tokens() const { return tokens_; }
  uint64_t files() const { return spans_.size(); }
  /// The number of files that are shorter than a window and thus never read.
  uint64_t skippedFiles() const { return skippedFiles_; }
  uint64_t skippedTokens() const { return skippedTokens_; }
  /// Returns the files that have windows.
  std::vector<SampleFile> describeFiles() const;

  /// Copies `length` tokens of a window, starting at its token `shift`. Throws
  /// Error with file, offset and value for a token outside `range`, and for a
  /// file that has changed. Allocates nothing otherwise. `Int` is int32_t or
  /// int64_t.
  template <typename Int>
  void copy(uint64_t window, uint64_t shift, uint64_t length,
            const TokenRange &range, Int *into) const;

private:
  struct Span {
    TokenSpan at;
    size_t file;
    uint64_t firstWindow;
  };

  void add(const std::string &path, TokenFormat format);
  [[noreturn]] void failWithoutWindows(const std::vector<std::string> &paths,
                                       const std::string &flag) const;

  const WindowShape shape_;
  mutable DataFiles files_; ///< mutable: reading maps and unmaps files
  std::vector<Span> spans_;
  uint64_t count_ = 0, tokens_ = 0;
  uint64_t skippedFiles_ = 0, skippedTokens_ = 0;
  uint64_t longestSkipped_ = 0; ///< in tokens
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_TOKEN_FILES_H
