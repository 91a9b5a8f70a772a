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
#include <cstring>

namespace ppopt::train {
namespace {

using runtime::ElementType;
using runtime::HostBuffer;
using runtime::Input;
using runtime::Program;

constexpr const char *kBytes = "U8";

/// The bf16 of an integer of at most 8 bits, which is exact.
uint16_t toBf16(unsigned char value) {
  auto number = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

/// Writes `count` bytes as elements of another type. The bytes may be the last
/// ones of the elements' memory: none is overwritten before it is read.
template <typename Element, typename Convert>
void widen(char *to, const char *from, uint64_t count, Convert convert) {
  for (uint64_t i = 0; i < count; ++i) {
    Element element = convert(static_cast<unsigned char>(from[i]));
    std::memcpy(to + i * sizeof element, &element, sizeof element);
  }
}

void widenInPlace(ElementType type, char *to, const char *from,
                  uint64_t count) {
  auto same = [](unsigned char value) { return value; };
  switch (type) {
  case ElementType::f32:
    return widen<float>(to, from, count, same);
  case ElementType::f64:
    return widen<double>(to, from, count, same);
  case ElementType::bf16:
    return widen<uint16_t>(to, from, count, toBf16);
  case ElementType::i32:
    return widen<int32_t>(to, from, count, same);
  case ElementType::i64:
    return widen<int64_t>(to, from, count, same);
  case ElementType::i1:
    break; // refused when the file is opened
  }
}

class TensorReader final : public SampleReader {
public:
  TensorReader(const Program &program, const std::vector<std::string> &paths,
               const std::string &flag, TensorNotes &notes)
      : paths_(paths), flag_(flag) {
    for (const Input &input : program.inputs)
      columns_.push_back({input, static_cast<uint64_t>(input.bytesPerRow()),
                          static_cast<uint64_t>(rowElements(input))});
    for (const std::string &file : listFiles(paths, flag, kTensorExtension))
      add(program, file, notes);
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
      const Stored &stored = parts_[file].tensors[index];
      uint64_t bytes = stored.isBytes ? column.elements : column.rowBytes;
      char *end = to + column.rowBytes;
      files_.read(file, stored.offset + rowInFile * bytes, bytes, end - bytes,
                  sample);
      if (stored.isBytes)
        widenInPlace(column.input.type, to, end - bytes, bytes);
      if (std::optional<BadId> bad = findBadId(column.input, to))
        throw Error("{} {}: '{}' sample {} element {}: {}", flag_,
                    files_.path(file), column.input.name, rowInFile,
                    bad->element, describeBadId(*bad));
    }
  }

private:
  struct Column {
    Input input;
    uint64_t rowBytes, elements; ///< of a sample
  };
  /// A tensor of a file.
  struct Stored {
    uint64_t offset;
    bool isBytes; ///< U8, and the input is of another type
  };
  /// The contents of a file.
  struct Part {
    uint64_t firstSample;
    std::vector<Stored> tensors; ///< one per column
  };

  size_t fileOf(uint64_t sample) const {
    auto after = std::upper_bound(parts_.begin(), parts_.end(), sample,
                                  [](uint64_t value, const Part &part) {
                                    return value < part.firstSample;
                                  });
    return static_cast<size_t>(after - parts_.begin()) - 1;
  }

  void add(const Program &program, const std::string &path,
           TensorNotes &notes) {
    SafetensorsFile file(path);
    checkNames(program, file, notes.others);
    Part part{count_, {}};
    std::optional<uint64_t> samples;
    for (const Input &input : program.inputs) {
      const StoredTensor &tensor = *file.find(input.name);
      checkTensor(input, tensor, file, samples);
      samples = static_cast<uint64_t>(tensor.shape[0]);
      part.tensors.push_back({file.offsetOf(tensor), tensor.dtype == kBytes});
      if (tensor.dtype == kBytes)
        notes.converted.insert(input.name);
    }
    files_.add(path);
    parts_.push_back(std::move(part));
    count_ += samples.value_or(0);
  }

  void checkNames(const Program &program, const SafetensorsFile &file,
                  std::set<std::string> &others) const {
    std::vector<std::string> missing, extra;
    for (const Input &input : program.inputs)
      if (!file.find(input.name))
        missing.push_back(input.name);
    for (const StoredTensor &tensor : file.tensors())
      if (std::none_of(
              program.inputs.begin(), program.inputs.end(),
              [&](const Input &input) { return input.name == tensor.name; }))
        extra.push_back(tensor.name);
    others.insert(extra.begin(), extra.end());
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
    bool takesBytes = input.type != ElementType::i1;
    std::string dtype = safetensorsDtype(spell(input.type));
    if (tensor.dtype != dtype && !(takesBytes && tensor.dtype == kBytes))
      fail(fmt::format("store it as {}{}", dtype,
                       takesBytes ? ", or as U8, which is converted" : ""));
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
                 const std::string &flag, TensorNotes *notes) {
  TensorNotes unused;
  return std::make_unique<TensorReader>(program, paths, flag,
                                        notes ? *notes : unused);
}

} // namespace ppopt::train
