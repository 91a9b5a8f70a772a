//===- token_files.cpp - Training text as streams of tokens ---------------===//

#include "data/token_files.h"

#include "base/list_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

namespace ppopt::train {
namespace {

constexpr uint64_t kHeaderBytes = 256 * 4;
constexpr uint32_t kMagicGpt2 = 20240520, kMagicLlama3 = 20240801;

uint32_t littleEndian32(const unsigned char *bytes) {
  return static_cast<uint32_t>(bytes[0]) |
         static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 |
         static_cast<uint32_t>(bytes[3]) << 24;
}

int64_t tokenAt(const unsigned char *bytes, uint32_t width) {
  if (width == 1)
    return *bytes;
  if (width == 2)
    return bytes[0] | bytes[1] << 8;
  return littleEndian32(bytes);
}

/// Returns the span of a file that begins with one of llm.c's magic numbers.
TokenSpan readHeader(const std::string &path, uint32_t magic,
                     const unsigned char *head, uint64_t fileBytes) {
  if (fileBytes < kHeaderBytes)
    throw Error(
        "{}: has llm.c's token file magic {} but ends within the header ({} of "
        "{} bytes)",
        path, magic, fileBytes, kHeaderBytes);
  uint32_t version = littleEndian32(head + 4);
  uint32_t expected = magic == kMagicGpt2 ? 1 : 7;
  if (version != expected)
    throw Error(
        "{}: llm.c token file of version {}, only version {} of magic {} is "
        "known",
        path, version, expected, magic);
  TokenSpan span;
  span.firstByte = kHeaderBytes;
  span.tokens = littleEndian32(head + 8);
  span.width = magic == kMagicGpt2 ? 2 : 4;
  uint64_t found = fileBytes - kHeaderBytes;
  if (found != span.tokens * span.width)
    throw Error(
        "{}: the header promises {} tokens of {} bytes, {} bytes follow it",
        path, span.tokens, span.width, found);
  return span;
}

} // namespace

TokenSpan findTokens(const std::string &path, TokenFormat format,
                     const unsigned char *head, uint64_t fileBytes) {
  uint32_t magic = fileBytes < 4 ? 0 : littleEndian32(head);
  if (magic == kMagicGpt2 || magic == kMagicLlama3)
    return readHeader(path, magic, head, fileBytes);
  TokenSpan span;
  span.width = format == TokenFormat::Uint16 ? 2 : 1;
  span.tokens = fileBytes / span.width;
  if (fileBytes % span.width != 0)
    throw Error("{}: {} bytes are not a whole number of uint16 tokens "
                "(--tokens bytes reads it as bytes)",
                path, fileBytes);
  return span;
}

TokenWindows::TokenWindows(const std::vector<std::string> &paths,
                           TokenFormat format, WindowShape shape,
                           const std::string &flag)
    : shape_(shape) {
  for (const std::string &path : listFiles(paths, flag))
    add(path, format);
  if (count_ == 0)
    failWithoutWindows(paths, flag);
}

void TokenWindows::add(const std::string &path, TokenFormat format) {
  unsigned char head[kTokenHeadBytes];
  size_t number = files_.count();
  files_.add(path, head, sizeof head);
  TokenSpan span = findTokens(path, format, head, files_.bytes(number));
  if (span.tokens < shape_.tokens) {
    ++skippedFiles_;
    skippedTokens_ += span.tokens;
    longestSkipped_ = std::max(longestSkipped_, span.tokens);
    return;
  }
  tokens_ += span.tokens;
  spans_.push_back({span, number, count_});
  count_ += (span.tokens - shape_.tokens) / shape_.stride + 1;
}

void TokenWindows::failWithoutWindows(const std::vector<std::string> &paths,
                                      const std::string &flag) const {
  std::string given = describePaths(paths);
  if (skippedTokens_ == 0)
    throw Error("{} {}: no tokens in it", flag, given);
  if (skippedFiles_ == 1)
    throw Error("{} {}: a sample of this model needs {} tokens, the file has "
                "{}",
                flag, given, shape_.tokens, skippedTokens_);
  throw Error("{} {}: a sample of this model needs {} tokens of one file, the "
              "longest of the {} files has {}",
              flag, given, shape_.tokens, skippedFiles_, longestSkipped_);
}

std::vector<SampleFile> TokenWindows::describeFiles() const {
  std::vector<SampleFile> files;
  for (const Span &span : spans_)
    files.push_back(files_.describe(span.file));
  return files;
}

template <typename Int>
void TokenWindows::copy(uint64_t window, uint64_t shift, uint64_t length,
                        const TokenRange &range, Int *into) const {
  auto after = std::upper_bound(spans_.begin(), spans_.end(), window,
                                [](uint64_t value, const Span &span) {
                                  return value < span.firstWindow;
                                });
  const Span &span = *std::prev(after);
  const uint32_t width = span.at.width;
  const uint64_t first = (window - span.firstWindow) * shape_.stride + shift;
  constexpr uint64_t kPieceBytes = 4096;
  unsigned char piece[kPieceBytes];
  for (uint64_t done = 0; done < length;) {
    uint64_t tokens = std::min(kPieceBytes / width, length - done);
    files_.read(span.file, span.at.firstByte + (first + done) * width,
                tokens * width, piece, window);
    for (uint64_t i = 0; i < tokens; ++i, ++done) {
      int64_t token = tokenAt(piece + i * width, width);
      if (range.bounded && (token < 0 || token >= range.size) &&
          !(range.hasIgnored && token == range.ignored))
        throw Error(
            "{}: token {} at offset {} is outside the model's vocabulary of {} "
            "(0 to {})",
            files_.path(span.file), token, first + done, range.size,
            range.size - 1);
      if (token > static_cast<int64_t>(std::numeric_limits<Int>::max()))
        throw Error("{}: token {} at offset {} does not fit the model's "
                    "{}-bit input",
                    files_.path(span.file), token, first + done,
                    sizeof(Int) * 8);
      into[done] = static_cast<Int>(token);
    }
  }
}

template void TokenWindows::copy(uint64_t, uint64_t, uint64_t,
                                 const TokenRange &, int32_t *) const;
template void TokenWindows::copy(uint64_t, uint64_t, uint64_t,
                                 const TokenRange &, int64_t *) const;

} // namespace ppopt::train
