//===- token_reader.cpp - Samples that are windows of tokens --------------===//

#include "base/list_files.h"
#include "data/sample_inputs.h"
#include "data/sample_reader.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppopt::train {
namespace {

using runtime::ElementType;
using runtime::HostBuffer;
using runtime::Input;
using runtime::Program;

/// Returns "1 file", "2 files".
std::string counted(uint64_t count, const char *what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class TokenReader final : public SampleReader {
public:
  TokenReader(const Program &program, const std::vector<std::string> &paths,
              TokenFormat format, const std::string &flag)
      : paths_(paths), shape_(shapeOf(program, flag)),
        windows_(paths, format, shape_, flag) {
    for (const Input &input : program.inputs)
      columns_.push_back({input, static_cast<uint64_t>(input.shift),
                          static_cast<uint64_t>(rowElements(input)),
                          rangeOf(input)});
  }

  uint64_t count() const override { return windows_.count(); }
  const char *unit() const override { return "windows"; }

  std::string describe() const override {
    std::string text = fmt::format(
        "{}: {} tokens in {}, {} of {} tokens", describePaths(paths_),
        windows_.tokens(), counted(windows_.files(), "file"),
        counted(windows_.count(), "window"), shape_.stride);
    if (windows_.skippedFiles() > 0)
      text += fmt::format("; {} ({} tokens) shorter than a sample of {} "
                          "tokens skipped",
                          counted(windows_.skippedFiles(), "file"),
                          windows_.skippedTokens(), shape_.tokens);
    return text;
  }

  std::vector<SampleFile> files() const override {
    return windows_.describeFiles();
  }

  void read(uint64_t sample, int64_t row,
            const std::vector<HostBuffer> &inputs) const override {
    for (auto [index, base] : inputs) {
      const Column &column = columns_[index];
      int64_t first = row * static_cast<int64_t>(column.length);
      char *to = base + first * byteSize(column.input.type);
      if (column.input.type == ElementType::i32)
        windows_.copy(sample, column.shift, column.length, column.range,
                      reinterpret_cast<int32_t *>(to));
      else
        windows_.copy(sample, column.shift, column.length, column.range,
                      reinterpret_cast<int64_t *>(to));
      if (column.range.bounded)
        continue;
      if (std::optional<BadId> bad = findBadId(column.input, to))
        throw Error("{}: '{}', window {}, token {}: {}", describePaths(paths_),
                    column.input.name, sample, bad->element,
                    describeBadId(*bad));
    }
  }

private:
  struct Column {
    Input input;
    uint64_t shift, length;
    TokenRange range;
  };

  static WindowShape shapeOf(const Program &program, const std::string &flag) {
    int64_t tokens = 0, stride = 0;
    for (const Input &input : program.inputs) {
      bool isInteger =
          input.type == ElementType::i32 || input.type == ElementType::i64;
      if (!isInteger || input.shape.size() != 2)
        throw Error("{}: input {}, not integers of rank 2 (batch, tokens): "
                    "give this model's inputs by --inputs FILE.safetensors",
                    flag, describeInput(input));
      tokens = std::max(tokens, input.shape[1] + input.shift);
      stride = std::max(stride, input.shape[1]);
    }
    return {static_cast<uint64_t>(tokens), static_cast<uint64_t>(stride)};
  }

  const std::vector<std::string> paths_;
  const WindowShape shape_;
  TokenWindows windows_;
  std::vector<Column> columns_; ///< one per input of the program
};

} // namespace

std::unique_ptr<SampleReader>
makeTokenReader(const Program &program, const std::vector<std::string> &paths,
                TokenFormat format, const std::string &flag) {
  return std::make_unique<TokenReader>(program, paths, format, flag);
}

} // namespace ppopt::train
