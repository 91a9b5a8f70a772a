//===- tensor_reader.cpp - Samples that are rows of tensors ---------------===//

#include "base/list_files.h"
#include "data/data_files.h"
#include "data/safetensors.h"
#include "data/sample_inputs.h"
#include "data/sample_reader.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ppopt::train {
namespace {

using runtime::ElementType;
using runtime::HostBuffer;
using runtime::Input;
using runtime::Program;

class TensorReader final : public SampleReader {
public:
  TensorReader(const Program &program, const std::vector<std::string> &paths,
               const std::string &flag, std::set<std::string> *others)
      : paths_(paths), flag_(flag) {
    for (const Input &input : program.inputs)
      columns_.push_back({input, static_cast<uint64_t>(input.bytesPerRow())});
    for (const std::string &file : listFiles(paths, flag, kTensorExtension))
      add(program, file, others);
    if (count_ == 0)
      throw Error("{} {}: the tensors hold no samples", flag_,
                  describePaths(paths));
  }

  uint64_t count() const override { return count_; }
  const char *unit() const override { return "samples"; }
  std::string describe() const override {
    std::string text =
        fmt::format("{}: {} samples", describePaths(paths_), count_);
    if (files_.count() > 1)
      text += fmt::format(" in {} files", files_.count());
    return text;
  }

  std::vector<SampleFile> files() const override {
    std::vector<SampleFile> files;
    for (size_t file = 0; file < files_.count(); ++file)
      files.push_back(files_.describe(file));
    return files;
  }

  std::string locate(uint64_t sample) const override {
    size_t file = fileOf(sample);
    return fmt::format("row {} of {}", sample - parts_[file].firstSample,
                       files_.path(file));
  }

  void read(uint64_t sample, int64_t row,
            const std::vector<HostBuffer> &inputs) const override {
    size_t file = fileOf(sample);
    uint64_t rowInFile = sample - parts_[file].firstSample;
    for (auto [index, base] : inputs) {
      const Column &column = columns_[index];
      char *to = base + row * column.rowBytes;
      files_.read(file,
                  parts_[file].tensors[index] + rowInFile * column.rowBytes,
                  column.rowBytes, to, sample);
      if (std::optional<BadId> bad = findBadId(column.input, to))
        throw Error("{} {}: '{}' sample {} element {}: {}", flag_,
                    files_.path(file), column.input.name, rowInFile,
                    bad->element, describeBadId(*bad));
    }
  }

private:
  struct Column {
    Input input;
    uint64_t rowBytes;
  };
  /// The contents of a file.
  struct Part {
    uint64_t firstSample;
    std::vector<uint64_t> tensors; ///< offset of each column
  };

  size_t fileOf(uint64_t sample) const {
    auto after = std::upper_bound(parts_.begin(), parts_.end(), sample,
                                  [](uint64_t value, const Part &part) {
                                    return value < part.firstSample;
                                  });
    return static_cast<size_t>(after - parts_.begin()) - 1;
  }

  void add(const Program &program, const std::string &path,
           std::set<std::string> *others) {
    SafetensorsFile file(path);
    checkNames(program, file, others);
    Part part{count_, {}};
    std::optional<uint64_t> samples;
    for (const Input &input : program.inputs) {
      const StoredTensor &tensor = *file.find(input.name);
      checkTensor(input, tensor, file, samples);
      samples = static_cast<uint64_t>(tensor.shape[0]);
      part.tensors.push_back(file.offsetOf(tensor));
    }
    files_.add(path);
    parts_.push_back(std::move(part));
    count_ += samples.value_or(0);
  }

  void checkNames(const Program &program, const SafetensorsFile &file,
                  std::set<std::string> *others) const {
    std::vector<std::string> missing, extra;
    for (const Input &input : program.inputs)
      if (!file.find(input.name))
        missing.push_back(input.name);
    for (const StoredTensor &tensor : file.tensors())
      if (std::none_of(
              program.inputs.begin(), program.inputs.end(),
              [&](const Input &input) { return input.name == tensor.name; }))
        extra.push_back(tensor.name);
    if (others)
      others->insert(extra.begin(), extra.end());
    if (missing.empty())
      return;
    throw Error("{} {}: the tensors are not this model's inputs; missing: {}{}",
                flag_, file.path(), fmt::join(missing, ", "),
                extra.empty() ? ""
                              : fmt::format("; not an input: {}",
                                            fmt::join(extra, ", ")));
  }

  /// `samples` is the number in the file's previous tensor, if there is one.
  void checkTensor(const Input &input, const StoredTensor &tensor,
                   const SafetensorsFile &file,
                   std::optional<uint64_t> samples) const {
    auto fail = [&](const std::string &what) {
      throw Error("{} {}: input {}, the file has {}: {}", flag_, file.path(),
                  describeInput(input),
                  describeTensor(tensor.dtype, tensor.shape), what);
    };
    if (tensor.dtype != safetensorsDtype(spell(input.type)))
      fail(fmt::format("store it as {}", safetensorsDtype(spell(input.type))));
    if (tensor.shape.size() != input.shape.size() ||
        !std::equal(tensor.shape.begin() + 1, tensor.shape.end(),
                    input.shape.begin() + 1))
      fail("only the first size, the number of samples, may differ");
    if (samples && static_cast<uint64_t>(tensor.shape[0]) != *samples)
      fail(
          fmt::format("'{}' has {} samples", columns_[0].input.name, *samples));
  }

  const std::vector<std::string> paths_;
  const std::string flag_;
  mutable DataFiles files_; ///< mutable: reading maps and unmaps files
  uint64_t count_ = 0;
  std::vector<Column> columns_; ///< one per input of the program
  std::vector<Part> parts_;     ///< one per file
};

} // namespace

std::unique_ptr<SampleReader>
makeTensorReader(const Program &program, const std::vector<std::string> &paths,
                 const std::string &flag, std::set<std::string> *others) {
  return std::make_unique<TensorReader>(program, paths, flag, others);
}

} // namespace ppopt::train
