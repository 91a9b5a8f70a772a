//===- token_files.h - Training text as streams of tokens -----------------===//
//
// Each file is one span of tokens in one of these formats:
//
//  - llm.c's .bin files, known by their header (256 int32: magic, version,
//    number of tokens): 20240520 version 1 holds uint16 (GPT-2), 20240801
//    version 7 uint32 (Llama 3);
//  - raw little-endian uint16 (nanoGPT's) where the user asks for it;
//  - anything else is bytes, one token each.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_TOKEN_FILES_H
#define PPOPT_RUNTIME_DATA_TOKEN_FILES_H

#include "data/data_files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// How files without an llm.c header are read.
enum class TokenFormat { Bytes, Uint16 };

/// Where a file has its tokens.
struct TokenSpan {
  uint64_t firstByte = 0;
  uint64_t tokens = 0;
  uint32_t width = 1; ///< bytes a token
};

/// What tells the format of a file.
inline constexpr uint64_t kTokenHeadBytes = 12;

/// Of a file of so many bytes that begins with these. Throws Error with one
/// line where the header is wrong.
TokenSpan findTokens(const std::string &path, TokenFormat format,
                     const unsigned char *head, uint64_t fileBytes);

/// Values of an input that a model can look up.
struct TokenRange {
  bool bounded = false;
  int64_t size = 0; ///< values are in [0, size) where bounded
  bool hasIgnored = false;
  int64_t ignored = 0; ///< allowed besides, where hasIgnored
};

/// How files are cut into samples: window k of a file is its tokens
/// [k·stride, k·stride + tokens), where these lie within the file.
struct WindowShape {
  uint64_t tokens, stride;
};

/// All windows of some files, numbered by file, in the order of their paths,
/// and then by their first token.
class TokenWindows {
public:
  /// `paths` as in listFiles. Throws Error where there is no data or no file
  /// holds a window; `flag` ("--data") is named in the message.
  TokenWindows(const std::vector<std::string> &paths, TokenFormat format,
               WindowShape shape, const std::string &flag);

  uint64_t count() const { return count_; }
  /// Of the files that are read.
  uint64_t tokens() const { return tokens_; }
  uint64_t files() const { return spans_.size(); }
  /// Files that are shorter than a window and are never read.
  uint64_t skippedFiles() const { return skippedFiles_; }
  uint64_t skippedTokens() const { return skippedTokens_; }
  /// Those that windows are in.
  std::vector<SampleFile> describeFiles() const;

  /// Copies `length` tokens of a window from its token `shift` on. Throws
  /// Error with file, offset and value for a token that is not in `range`, and
  /// for a file that was changed; allocates nothing otherwise. `Int` is int32_t
  /// or int64_t.
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
  mutable DataFiles files_; ///< which of them are mapped changes
  std::vector<Span> spans_;
  uint64_t count_ = 0, tokens_ = 0;
  uint64_t skippedFiles_ = 0, skippedTokens_ = 0;
  uint64_t longestSkipped_ = 0; ///< in tokens
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_TOKEN_FILES_H
