//===- token_files.cpp - Training text as streams of tokens ---------------===//

#include "train/token_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace ppopt::train {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHeaderBytes = 256 * 4;
constexpr uint32_t kMagicGpt2 = 20240520, kMagicLlama3 = 20240801;

uint32_t littleEndian32(const unsigned char *bytes) {
  return static_cast<uint32_t>(bytes[0]) |
         static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 |
         static_cast<uint32_t>(bytes[3]) << 24;
}

/// The regular files under a path, in the order of their names. Hidden files
/// and folders (a version control's) are not data.
std::vector<std::string> listFiles(const std::string &path,
                                   const std::string &flag) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (error || !fs::exists(status))
    throw Error("{} {}: no such file or folder", flag, path);
  if (!fs::is_directory(status))
    return {path};
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(path, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    bool hidden = entries->path().filename().string().front() == '.';
    if (hidden && entries->is_directory(error))
      entries.disable_recursion_pending();
    else if (!hidden && entries->is_regular_file(error))
      files.push_back(entries->path().string());
  }
  if (error)
    throw Error("{} {}: cannot list the folder: {}", flag, path,
                error.message());
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw Error("{} {}: the folder holds no files", flag, path);
  return files;
}

} // namespace

//===----------------------------------------------------------------------===//
// One file
//===----------------------------------------------------------------------===//

TokenFile::TokenFile(const std::string &path, TokenFormat format)
    : file_(path) {
  if (readHeader())
    return;
  first_ = file_.data();
  width_ = format == TokenFormat::Uint16 ? 2 : 1;
  if (file_.size() % width_ != 0)
    throw Error("{}: {} bytes are not a whole number of uint16 tokens "
                "(--tokens bytes reads it as bytes)",
                path, file_.size());
  tokens_ = file_.size() / width_;
}

bool TokenFile::readHeader() {
  if (file_.size() < 4)
    return false;
  uint32_t magic = littleEndian32(file_.data());
  if (magic != kMagicGpt2 && magic != kMagicLlama3)
    return false;
  if (file_.size() < kHeaderBytes)
    throw Error(
        "{}: has llm.c's token file magic {} but ends within the header ({} of "
        "{} bytes)",
        path(), magic, file_.size(), kHeaderBytes);
  uint32_t version = littleEndian32(file_.data() + 4);
  uint32_t expected = magic == kMagicGpt2 ? 1 : 7;
  if (version != expected)
    throw Error(
        "{}: llm.c token file of version {}, only version {} of magic {} is "
        "known",
        path(), version, expected, magic);
  width_ = magic == kMagicGpt2 ? 2 : 4;
  tokens_ = littleEndian32(file_.data() + 8);
  uint64_t found = file_.size() - kHeaderBytes;
  if (found != tokens_ * width_)
    throw Error(
        "{}: the header promises {} tokens of {} bytes, {} bytes follow it",
        path(), tokens_, width_, found);
  first_ = file_.data() + kHeaderBytes;
  return true;
}

int64_t TokenFile::operator[](uint64_t index) const {
  const unsigned char *token = first_ + index * width_;
  if (width_ == 1)
    return *token;
  if (width_ == 2)
    return token[0] | token[1] << 8;
  return littleEndian32(token);
}

//===----------------------------------------------------------------------===//
// All files
//===----------------------------------------------------------------------===//

TokenWindows::TokenWindows(const std::string &path, TokenFormat format,
                           uint64_t window, const std::string &flag) {
  uint64_t longest = 0, all = 0;
  for (const std::string &name : listFiles(path, flag)) {
    TokenFile file(name, format);
    all += file.size();
    longest = std::max(longest, file.size());
    if (file.size() < window) {
      ++skippedFiles_;
      skippedTokens_ += file.size();
      continue;
    }
    tokens_ += file.size();
    uint64_t windows = file.size() - window + 1;
    files_.push_back({std::move(file), count_});
    count_ += windows;
  }
  if (count_ > 0)
    return;
  if (all == 0)
    throw Error("{} {}: no tokens in it", flag, path);
  throw Error(
      skippedFiles_ == 1
          ? fmt::format("{} {}: a sample of this model needs {} tokens, the "
                        "file has {}",
                        flag, path, window, all)
          : fmt::format("{} {}: a sample of this model needs {} tokens of one "
                        "file, the longest of the {} files has {}",
                        flag, path, window, skippedFiles_, longest));
}

std::vector<SampleFile> TokenWindows::describeFiles() const {
  std::vector<SampleFile> files;
  for (const Span &span : files_)
    files.push_back({span.file.path(), span.file.bytes()});
  return files;
}

template <typename Int>
void TokenWindows::copy(uint64_t window, uint64_t shift, uint64_t length,
                        const TokenRange &range, Int *into) const {
  auto after = std::upper_bound(files_.begin(), files_.end(), window,
                                [](uint64_t value, const Span &span) {
                                  return value < span.firstWindow;
                                });
  const Span &span = *std::prev(after);
  uint64_t first = window - span.firstWindow + shift;
  for (uint64_t i = 0; i < length; ++i) {
    int64_t token = span.file[first + i];
    if (range.bounded && (token < 0 || token >= range.size) &&
        !(range.hasIgnored && token == range.ignored))
      throw Error(
          "{}: token {} at offset {} is outside the model's vocabulary of {} "
          "(0 to {})",
          span.file.path(), token, first + i, range.size, range.size - 1);
    if (token > static_cast<int64_t>(std::numeric_limits<Int>::max()))
      throw Error("{}: token {} at offset {} does not fit the model's "
                  "{}-bit input",
                  span.file.path(), token, first + i, sizeof(Int) * 8);
    into[i] = static_cast<Int>(token);
  }
}

template void TokenWindows::copy(uint64_t, uint64_t, uint64_t,
                                 const TokenRange &, int32_t *) const;
template void TokenWindows::copy(uint64_t, uint64_t, uint64_t,
                                 const TokenRange &, int64_t *) const;

} // namespace ppopt::train
