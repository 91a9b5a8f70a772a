//===- bpe_tokenizer.cpp - GPT-2's byte-pair encoding ---------------------===//

#include "generate/bpe_tokenizer.h"

#include "base/json_structure.h"
#include "base/mapped_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace ppopt::train {
namespace {

using json = nlohmann::json;

constexpr char kEndOfText[] = "<|endoftext|>";

std::string utf8(uint32_t character) { // below U+0800
  if (character < 0x80)
    return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xC0 | character >> 6),
          static_cast<char>(0x80 | (character & 0x3F))};
}

/// Returns the spelling of each byte: visible characters of Latin-1 as
/// themselves, the others as U+0100 and up, in order (GPT-2's
/// bytes_to_unicode).
std::array<std::string, 256> spellBytes() {
  auto isVisible = [](uint32_t byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
           byte >= 0xAE;
  };
  std::array<std::string, 256> spelled;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte)
    spelled[byte] = utf8(isVisible(byte) ? byte : next++);
  return spelled;
}

/// Returns the bytes of a token's spelling; nullopt if one of its characters
/// does not spell a byte.
std::optional<std::string>
bytesOf(const std::string &spelling,
        const std::unordered_map<std::string, char> &byteOf) {
  std::string bytes;
  for (size_t at = 0; at < spelling.size();) {
    size_t length = static_cast<unsigned char>(spelling[at]) < 0x80 ? 1 : 2;
    auto found = byteOf.find(spelling.substr(at, length));
    if (found == byteOf.end())
      return std::nullopt;
    bytes += found->second;
    at += length;
  }
  return bytes;
}

struct VocabularyFiles {
  std::string vocabulary, merges;
};
constexpr std::pair<const char *, const char *> kVocabularyNames[] = {
    {"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

VocabularyFiles findFiles(const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Error("--tokenizer {}: no such folder", folder);
  for (auto [vocabulary, merges] : kVocabularyNames) {
    std::string first = (fs::path(folder) / vocabulary).string(),
                second = (fs::path(folder) / merges).string();
    if (fs::exists(first, error) && fs::exists(second, error))
      return {first, second};
  }
  throw Error("--tokenizer {}: has neither vocab.json and merges.txt nor "
              "encoder.json and vocab.bpe",
              folder);
}

uint64_t keyOf(int32_t left, int32_t right) {
  return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
}

} // namespace

bool isVocabularyFile(std::string_view name) {
  for (auto [vocabulary, merges] : kVocabularyNames)
    if (name == vocabulary || name == merges)
      return true;
  return false;
}

BpeTokenizer::BpeTokenizer(const std::string &folder) {
  VocabularyFiles files = findFiles(folder);
  readVocabulary(files.vocabulary);
  readMerges(files.merges);
}

void BpeTokenizer::readVocabulary(const std::string &path) {
  MappedFile file(path);
  runtime::limitDepth(path, file.text());
  json vocabulary =
      json::parse(file.text(), /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!vocabulary.is_object() || vocabulary.empty())
    throw Error("{}: is not a JSON object of tokens and their numbers", path);

  std::array<std::string, 256> spelled = spellBytes();
  std::unordered_map<std::string, char> byteOf;
  for (int byte = 0; byte < 256; ++byte)
    byteOf[spelled[byte]] = static_cast<char>(byte);

  std::vector<bool> seen(vocabulary.size());
  bytes_.resize(vocabulary.size());
  for (const auto &[spelling, number] : vocabulary.items()) {
    if (!number.is_number_unsigned() ||
        number.get<uint64_t>() >= vocabulary.size())
      throw Error("{}: token '{}' has the number {}, not one of 0 to {}", path,
                  spelling, number.dump(), vocabulary.size() - 1);
    auto token = number.get<int32_t>();
    if (seen[token])
      throw Error("{}: two tokens have the number {}", path, token);
    seen[token] = true;
    std::optional<std::string> bytes = bytesOf(spelling, byteOf);
    if (!bytes)
      throw Error("{}: token '{}' (number {}) does not spell bytes as GPT-2's "
                  "do",
                  path, spelling, token);
    bytes_[token] = *bytes;
    tokens_[spelling] = token;
  }
  for (int byte = 0; byte < 256; ++byte)
    ofByte_[byte] = find(spelled[byte]);
  if (int32_t token = find(kEndOfText); token >= 0)
    endOfText_ = token;
}

void BpeTokenizer::readMerges(const std::string &path) {
  MappedFile file(path);
  std::string_view text = file.text();
  int32_t rank = 0;
  for (int64_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.substr(0, 8) == "#version"))
      continue;
    try {
      addMerge(line, rank++);
    } catch (const Error &error) {
      throw Error("{}:{}: {}", path, number, error.what());
    }
  }
}

void BpeTokenizer::addMerge(std::string_view line, int32_t rank) {
  size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != line.npos)
    throw Error("'{}' is not two tokens with a space between", line);
  std::string left(line.substr(0, space)), right(line.substr(space + 1));
  for (const std::string &part : {left, right, left + right})
    if (find(part) < 0)
      throw Error("'{}' is not in the vocabulary", part);
  merges_.try_emplace(keyOf(find(left), find(right)),
                      Merge{rank, find(left + right)});
}

int32_t BpeTokenizer::find(std::string_view spelling) const {
  auto found = tokens_.find(std::string(spelling));
  return found == tokens_.end() ? -1 : found->second;
}

const BpeTokenizer::Merge *BpeTokenizer::mergeOf(int32_t left,
                                                 int32_t right) const {
  auto found = merges_.find(keyOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  while (true) {
    size_t end = endOfText_ ? text.find(kEndOfText) : text.npos;
    pieces_.forEach(text.substr(0, end), [&](std::string_view piece) {
      encodePiece(piece, tokens);
    });
    if (end == text.npos)
      return tokens;
    tokens.push_back(*endOfText_);
    text.remove_prefix(end + sizeof kEndOfText - 1);
  }
}

/// Merges the pair with the lowest rank anywhere in the piece, until no pair
/// can be merged.
void BpeTokenizer::encodePiece(std::string_view piece,
                               std::vector<int32_t> &tokens) const {
  std::vector<int32_t> parts;
  for (char c : piece) {
    int byte = static_cast<unsigned char>(c);
    if (ofByte_[byte] < 0)
      throw Error("the tokenizer's vocabulary has no token for the byte "
                  "0x{:02X}",
                  byte);
    parts.push_back(ofByte_[byte]);
  }
  while (true) {
    const Merge *best = nullptr;
    uint64_t pair = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const Merge *merge = mergeOf(parts[i], parts[i + 1]);
      if (merge && (!best || merge->rank < best->rank)) {
        best = merge;
        pair = keyOf(parts[i], parts[i + 1]);
      }
    }
    if (!best)
      break;
    size_t kept = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      bool merges =
          i + 1 < parts.size() && keyOf(parts[i], parts[i + 1]) == pair;
      parts[kept++] = merges ? best->token : parts[i];
      i += merges;
    }
    parts.resize(kept);
  }
  tokens.insert(tokens.end(), parts.begin(), parts.end());
}

int32_t BpeTokenizer::first() const {
  if (endOfText_)
    return *endOfText_;
  if (ofByte_['\n'] < 0)
    throw Error("--tokenizer: the vocabulary has neither <|endoftext|> nor a "
                "new line to begin with: give a --prompt");
  return ofByte_['\n'];
}

} // namespace ppopt::train
