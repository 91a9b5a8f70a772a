//===- token_files.h - Training text as streams of tokens -----------------===//
//
// A path names a file or a folder (read recursively, in the order of the
// names). Each file is one span of tokens in one of these formats:
//
//  - llm.c's .bin files, known by their header (256 int32: magic, version,
//    number of tokens): 20240520 version 1 holds uint16 (GPT-2), 20240801
//    version 7 uint32 (Llama 3);
//  - raw little-endian uint16 (nanoGPT's) where the user asks for it;
//  - anything else is bytes, one token each.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TRAIN_TOKEN_FILES_H
#define PPOPT_TRAIN_TOKEN_FILES_H

#include "train/mapped_file.h"
#include "train/sample_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// How files without an llm.c header are read.
enum class TokenFormat { Bytes, Uint16 };

/// One file's tokens.
class TokenFile {
public:
  /// Throws Error with one line where the header is wrong.
  TokenFile(const std::string &path, TokenFormat format);

  const std::string &path() const { return file_.path(); }
  uint64_t bytes() const { return file_.size(); }
  uint64_t size() const { return tokens_; }
  int64_t operator[](uint64_t index) const;

private:
  bool readHeader();

  MappedFile file_;
  const unsigned char *first_ = nullptr;
  uint64_t tokens_ = 0;
  int width_ = 1; ///< bytes a token
};

/// Values of an input that a model can look up.
struct TokenRange {
  bool bounded = false;
  int64_t size = 0; ///< values are in [0, size) where bounded
  bool hasIgnored = false;
  int64_t ignored = 0; ///< allowed besides, where hasIgnored
};

/// All windows of `window` consecutive tokens that lie within one file. Windows
/// are numbered by file and then by their first token.
class TokenWindows {
public:
  /// Throws Error where there is no data or no file holds a
  /// window; `flag` ("--data") is named in the message.
  TokenWindows(const std::string &path, TokenFormat format, uint64_t window,
               const std::string &flag);

  uint64_t count() const { return count_; }
  uint64_t tokens() const { return tokens_; }
  uint64_t files() const { return files_.size(); }
  /// Files that are shorter than a window and are never read.
  uint64_t skippedFiles() const { return skippedFiles_; }
  uint64_t skippedTokens() const { return skippedTokens_; }
  /// Those that windows are in.
  std::vector<SampleFile> describeFiles() const;

  /// Copies `length` tokens of a window from its token `shift` on. Throws
  /// Error with file, offset and value for a token that is not in
  /// `range`; allocates nothing otherwise. `Int` is int32_t or int64_t.
  template <typename Int>
  void copy(uint64_t window, uint64_t shift, uint64_t length,
            const TokenRange &range, Int *into) const;

private:
  struct Span {
    TokenFile file;
    uint64_t firstWindow;
  };
  std::vector<Span> files_;
  uint64_t count_ = 0, tokens_ = 0;
  uint64_t skippedFiles_ = 0, skippedTokens_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_TOKEN_FILES_H
