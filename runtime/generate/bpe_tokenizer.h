//===- bpe_tokenizer.h - GPT-2's byte-pair encoding -----------------------===//
//
// The byte-level encoding of Radford et al., "Language Models are Unsupervised
// Multitask Learners" (2019). It reads the two files that come with such a
// model: the vocabulary (JSON: from a token's spelling to its number) and the
// merges (one per line, the best first). Both spell each byte as one visible
// character.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_GENERATE_BPE_TOKENIZER_H
#define PPOPT_RUNTIME_GENERATE_BPE_TOKENIZER_H

#include "generate/text_pieces.h"
#include "generate/tokenizer.h"

#include <array>
#include <optional>
#include <unordered_map>

namespace ppopt::train {

class BpeTokenizer : public Tokenizer {
public:
  /// Reads vocab.json and merges.txt, or encoder.json and vocab.bpe, from a
  /// folder. Throws Error that names the file and line.
  explicit BpeTokenizer(const std::string &folder);

  int64_t size() const override { return int64_t(bytes_.size()); }
  /// Encodes <|endoftext|> as that one token if the vocabulary has it.
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string_view decode(int32_t token) const override {
    return bytes_[token];
  }
  /// Returns <|endoftext|>, or a newline if the vocabulary lacks it.
  int32_t first() const override;

private:
  struct Merge {
    int32_t rank, token;
  };

  void readVocabulary(const std::string &path);
  void readMerges(const std::string &path);
  void addMerge(std::string_view line, int32_t rank);
  int32_t find(std::string_view spelling) const;
  void encodePiece(std::string_view piece, std::vector<int32_t> &tokens) const;
  const Merge *mergeOf(int32_t left, int32_t right) const;

  TextPieces pieces_;
  std::vector<std::string> bytes_;                  ///< by token
  std::unordered_map<std::string, int32_t> tokens_; ///< by spelling
  std::array<int32_t, 256> ofByte_{};               ///< -1: no token
  std::unordered_map<uint64_t, Merge> merges_;      ///< by pair of tokens
  std::optional<int32_t> endOfText_;
};

/// Returns whether a BpeTokenizer may read the file `name` in its folder.
bool isVocabularyFile(std::string_view name);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_BPE_TOKENIZER_H
