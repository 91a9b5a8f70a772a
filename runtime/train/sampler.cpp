//===- sampler.cpp - Filling a rank's inputs ------------------------------===//

#include "train/sampler.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace ppopt::train {
namespace {

using runtime::Buffer;
using runtime::ElementType;
using runtime::Input;
using runtime::Program;

bool isInteger(ElementType type) {
  return type == ElementType::i32 || type == ElementType::i64;
}

TokenRange rangeOf(const Input &input) {
  TokenRange range;
  range.bounded = input.range.has_value();
  range.size = input.range.value_or(0);
  range.hasIgnored = input.ignoreIndex.has_value();
  range.ignored = input.ignoreIndex.value_or(0);
  return range;
}

int64_t rowElements(const Input &input) {
  int64_t elements = 1;
  for (size_t i = 1; i < input.shape.size(); ++i)
    elements *= input.shape[i];
  return elements;
}

std::string describeInput(const Input &input) {
  return fmt::format("'{}' is {} [{}]", input.name, spelling(input.type),
                     fmt::join(input.shape, ", "));
}

//===----------------------------------------------------------------------===//
// Windows of tokens
//===----------------------------------------------------------------------===//

class TokenReader final : public SampleReader {
public:
  TokenReader(const Program &program, const std::string &path,
              TokenFormat format, const std::string &flag)
      : path_(path), windowTokens_(windowOf(program, flag)),
        windows_(path, format, windowTokens_, flag) {
    for (const Input &input : program.inputs)
      columns_.push_back({input.type, static_cast<uint64_t>(input.shift),
                          static_cast<uint64_t>(rowElements(input)),
                          rangeOf(input)});
  }

  uint64_t count() const override { return windows_.count(); }
  const char *unit() const override { return "windows"; }

  std::string describe() const override {
    std::string text =
        fmt::format("{}: {} tokens in {} file{}", path_, windows_.tokens(),
                    windows_.files(), windows_.files() == 1 ? "" : "s");
    if (windows_.skippedFiles() > 0)
      text += fmt::format("; {} file{} ({} tokens) shorter than a sample of {} "
                          "tokens skipped",
                          windows_.skippedFiles(),
                          windows_.skippedFiles() == 1 ? "" : "s",
                          windows_.skippedTokens(), windowTokens_);
    return text;
  }

  std::vector<SampleFile> files() const override {
    return windows_.describeFiles();
  }

  void read(uint64_t sample, int64_t row,
            const std::vector<Buffer> &inputs) const override {
    for (auto [index, base] : inputs) {
      const Column &column = columns_[index];
      int64_t first = row * static_cast<int64_t>(column.length);
      if (column.type == ElementType::i32)
        windows_.copy(sample, column.shift, column.length, column.range,
                      reinterpret_cast<int32_t *>(base) + first);
      else
        windows_.copy(sample, column.shift, column.length, column.range,
                      reinterpret_cast<int64_t *>(base) + first);
    }
  }

private:
  struct Column {
    ElementType type;
    uint64_t shift, length;
    TokenRange range;
  };

  /// Tokens that one sample needs.
  static uint64_t windowOf(const Program &program, const std::string &flag) {
    int64_t window = 0;
    for (const Input &input : program.inputs) {
      if (!isInteger(input.type) || input.shape.size() != 2)
        throw Error("{}: input {}, not integers of rank 2 (batch, tokens): "
                    "give this model's inputs by --inputs FILE.safetensors",
                    flag, describeInput(input));
      window = std::max(window, input.shape[1] + input.shift);
    }
    return static_cast<uint64_t>(window);
  }

  std::string path_;
  uint64_t windowTokens_;
  TokenWindows windows_;
  std::vector<Column> columns_; ///< one for each input of the program
};

//===----------------------------------------------------------------------===//
// Rows of tensors
//===----------------------------------------------------------------------===//

class TensorReader final : public SampleReader {
public:
  TensorReader(const Program &program, const std::string &path,
               const std::string &flag)
      : file_(path), flag_(flag) {
    checkNames(program);
    for (const Input &input : program.inputs)
      bind(input);
    if (count_ == 0)
      throw Error("{} {}: the tensors hold no samples", flag_, path);
  }

  uint64_t count() const override { return count_; }
  const char *unit() const override { return "samples"; }
  std::string describe() const override {
    return fmt::format("{}: {} samples", file_.path(), count_);
  }
  std::vector<SampleFile> files() const override {
    return {{file_.path(), file_.bytes()}};
  }

  void read(uint64_t sample, int64_t row,
            const std::vector<Buffer> &inputs) const override {
    for (auto [index, base] : inputs) {
      const Column &column = columns_[index];
      const unsigned char *from =
          column.tensor->data + sample * column.rowBytes;
      char *to = base + row * column.rowBytes;
      std::memcpy(to, from, column.rowBytes);
      if (column.range.bounded && column.type == ElementType::i32)
        checkRange<int32_t>(column, sample, to);
      else if (column.range.bounded && column.type == ElementType::i64)
        checkRange<int64_t>(column, sample, to);
    }
  }

private:
  struct Column {
    const StoredTensor *tensor;
    ElementType type;
    uint64_t rowBytes;
    TokenRange range;
  };

  void checkNames(const Program &program) const {
    std::vector<std::string> missing, extra;
    for (const Input &input : program.inputs)
      if (!file_.find(input.name))
        missing.push_back(input.name);
    for (const StoredTensor &tensor : file_.tensors())
      if (std::none_of(
              program.inputs.begin(), program.inputs.end(),
              [&](const Input &input) { return input.name == tensor.name; }))
        extra.push_back(tensor.name);
    if (missing.empty() && extra.empty())
      return;
    std::vector<std::string> wrong;
    if (!missing.empty())
      wrong.push_back(fmt::format("missing: {}", fmt::join(missing, ", ")));
    if (!extra.empty())
      wrong.push_back(fmt::format("not an input: {}", fmt::join(extra, ", ")));
    throw Error("{} {}: the tensors are not this model's inputs; {}", flag_,
                file_.path(), fmt::join(wrong, "; "));
  }

  void bind(const Input &input) {
    const StoredTensor &tensor = *file_.find(input.name);
    auto fail = [&](const std::string &what) {
      throw Error("{} {}: input {}, the file has {}: {}", flag_, file_.path(),
                  describeInput(input),
                  describeTensor(tensor.dtype, tensor.shape), what);
    };
    if (tensor.dtype != safetensorsDtype(spelling(input.type)))
      fail(fmt::format("store it as {}",
                       safetensorsDtype(spelling(input.type))));
    if (tensor.shape.size() != input.shape.size() ||
        !std::equal(tensor.shape.begin() + 1, tensor.shape.end(),
                    input.shape.begin() + 1))
      fail("only the first size, the number of samples, may differ");
    uint64_t samples = static_cast<uint64_t>(tensor.shape[0]);
    if (columns_.empty())
      count_ = samples;
    else if (samples != count_)
      fail(
          fmt::format("'{}' has {} samples", columns_[0].tensor->name, count_));
    columns_.push_back(
        {&tensor, input.type,
         static_cast<uint64_t>(rowElements(input) * byteSize(input.type)),
         rangeOf(input)});
  }

  template <typename Int>
  void checkRange(const Column &column, uint64_t sample,
                  const char *row) const {
    const Int *values = reinterpret_cast<const Int *>(row);
    for (uint64_t i = 0; i < column.rowBytes / sizeof(Int); ++i) {
      int64_t value = values[i];
      if ((value < 0 || value >= column.range.size) &&
          !(column.range.hasIgnored && value == column.range.ignored))
        throw Error("{} {}: '{}' sample {} element {}: {} is outside the "
                    "model's range of {} (0 to {})",
                    flag_, file_.path(), column.tensor->name, sample, i, value,
                    column.range.size, column.range.size - 1);
    }
  }

  SafetensorsFile file_;
  std::string flag_;
  uint64_t count_ = 0;
  std::vector<Column> columns_; ///< one for each input of the program
};

} // namespace

std::unique_ptr<SampleReader> makeTokenReader(const Program &program,
                                              const std::string &path,
                                              TokenFormat format,
                                              const std::string &flag) {
  return std::make_unique<TokenReader>(program, path, format, flag);
}

std::unique_ptr<SampleReader> makeTensorReader(const Program &program,
                                               const std::string &path,
                                               const std::string &flag) {
  return std::make_unique<TensorReader>(program, path, flag);
}

Sampler::Sampler(const Program &program,
                 std::shared_ptr<const SampleReader> reader,
                 std::unique_ptr<const SampleOrder> order)
    : batchRows_(program.plan.batch),
      rankRows_(program.plan.batch / program.plan.axisSize("dp")),
      reader_(std::move(reader)), order_(std::move(order)) {}

void Sampler::fill(int64_t batch, int64_t dpCoordinate,
                   const std::vector<Buffer> &inputs) const {
  if (inputs.empty())
    return;
  int64_t first = batch * batchRows_ + dpCoordinate * rankRows_;
  for (int64_t row = 0; row < rankRows_; ++row)
    reader_->read(order_->at(static_cast<uint64_t>(first + row)), row, inputs);
}

} // namespace ppopt::train
