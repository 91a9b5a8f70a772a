//===- safetensors.cpp - Reading and writing safetensors files ------------===//

#include "data/safetensors.h"

#include "base/json_structure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace ppopt::train {
namespace {

using json = nlohmann::json;

/// The format's limit. A longer header suggests another kind of file.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct DtypeSize {
  const char *name;
  uint64_t bytes;
};
constexpr DtypeSize kDtypes[] = {
    {"F64", 8}, {"I64", 8},  {"U64", 8},     {"F32", 4},     {"I32", 4},
    {"U32", 4}, {"BF16", 2}, {"F16", 2},     {"I16", 2},     {"U16", 2},
    {"I8", 1},  {"U8", 1},   {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}};

struct ProgramType {
  const char *program;
  const char *dtype;
};
constexpr ProgramType kProgramTypes[] = {{"f32", "F32"},   {"f64", "F64"},
                                         {"bf16", "BF16"}, {"i32", "I32"},
                                         {"i64", "I64"},   {"i1", "BOOL"}};

json parseHeader(const std::string &path, std::string_view text) {
  runtime::limitDepth(path + ": the header", text, /*most=*/8);
  runtime::findRepeatedKeys(text, [&](size_t depth, const std::string &key) {
    throw Error(depth == 1
                    ? "{}: two tensors are named '{}'"
                    : "{}: the header has the key '{}' twice in one entry",
                path, key);
  });
  try {
    return json::parse(text);
  } catch (const json::exception &error) {
    throw Error("{}: the header is not valid JSON: {}", path,
                runtime::reasonOf(error));
  }
}

std::map<std::string, std::string> readMetadata(const std::string &path,
                                                const json &entry) {
  std::map<std::string, std::string> metadata;
  if (!entry.is_object())
    throw Error("{}: __metadata__ is not an object", path);
  for (const auto &[key, value] : entry.items()) {
    if (!value.is_string())
      throw Error("{}: __metadata__ entry '{}' is not a string", path, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// A tensor's range of bytes, relative to the end of the header.
struct Range {
  uint64_t begin, end;
};

Range readTensor(const std::string &path, const std::string &name,
                 const json &entry, uint64_t dataBytes, StoredTensor &tensor) {
  auto fail = [&](const std::string &what) {
    throw Error("{}: tensor '{}': {}", path, name, what);
  };
  if (!entry.is_object())
    fail("its entry in the header is not an object");
  for (const auto &[key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      fail(fmt::format("unknown key '{}' in the header", key));
  for (const char *key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key))
      fail(fmt::format("the header does not give its {}", key));

  tensor.name = name;
  if (!entry["dtype"].is_string())
    fail("dtype is not a string");
  tensor.dtype = entry["dtype"].get<std::string>();
  uint64_t bytes = safetensorsElementSize(tensor.dtype);
  if (bytes == 0)
    fail(fmt::format("unknown dtype '{}'", tensor.dtype));

  if (!entry["shape"].is_array())
    fail("shape is not a list");
  for (const json &size : entry["shape"]) {
    if (!size.is_number_unsigned())
      fail(fmt::format("the size {} in its shape is not a whole number from 0 "
                       "on",
                       size.dump()));
    uint64_t value = size.get<uint64_t>();
    if (value > INT64_MAX || __builtin_mul_overflow(bytes, value, &bytes))
      fail("the sizes in its shape overflow 64 bits");
    tensor.shape.push_back(static_cast<int64_t>(value));
  }

  const json &offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    fail("data_offsets is not a pair of whole numbers from 0 on");
  Range range{offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
  if (range.begin > range.end)
    fail(fmt::format("data_offsets [{}, {}] end before they begin", range.begin,
                     range.end));
  if (range.end - range.begin != bytes)
    fail(fmt::format("{} needs {} bytes, data_offsets [{}, {}] hold {}",
                     describeTensor(tensor.dtype, tensor.shape), bytes,
                     range.begin, range.end, range.end - range.begin));
  if (range.end > dataBytes)
    fail(fmt::format("its data ends at byte {}, the file has {} bytes of "
                     "data: the file is truncated",
                     range.end, dataBytes));
  tensor.bytes = bytes;
  return range;
}

/// Checks that every byte of data belongs to exactly one tensor.
void checkCoverage(const std::string &path,
                   std::vector<std::pair<Range, std::string>> ranges,
                   uint64_t dataBytes) {
  std::sort(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) {
    return std::make_pair(a.first.begin, a.first.end) <
           std::make_pair(b.first.begin, b.first.end);
  });
  uint64_t covered = 0;
  const std::string *before = nullptr;
  for (const auto &[range, name] : ranges) {
    if (range.begin < covered)
      throw Error("{}: tensors '{}' and '{}' overlap", path, *before, name);
    if (range.begin > covered)
      throw Error("{}: bytes {} to {} of the data belong to no tensor", path,
                  covered, range.begin);
    covered = range.end;
    before = &name;
  }
  if (covered != dataBytes)
    throw Error("{}: the last {} bytes of the data belong to no tensor", path,
                dataBytes - covered);
}

uint64_t littleEndian64(const unsigned char *bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | bytes[i];
  return value;
}

} // namespace

uint64_t safetensorsElementSize(const std::string &dtype) {
  for (const DtypeSize &known : kDtypes)
    if (dtype == known.name)
      return known.bytes;
  return 0;
}

std::string safetensorsDtype(const std::string &programType) {
  for (const ProgramType &known : kProgramTypes)
    if (programType == known.program)
      return known.dtype;
  throw std::invalid_argument(
      fmt::format("the type '{}' has no safetensors dtype", programType));
}

std::string describeTensor(const std::string &dtype,
                           const std::vector<int64_t> &shape) {
  return fmt::format("{} [{}]", dtype, fmt::join(shape, ", "));
}

SafetensorsFile::SafetensorsFile(const std::string &path) : file_(path) {
  if (file_.size() < 8)
    throw Error("{}: {} bytes are too few for a safetensors file", path,
                file_.size());
  uint64_t headerBytes = littleEndian64(file_.data());
  if (headerBytes > kMaxHeaderBytes)
    throw Error("{}: not a safetensors file: a header of {} bytes (at most {})",
                path, headerBytes, kMaxHeaderBytes);
  if (headerBytes > file_.size() - 8)
    throw Error(
        "{}: the header should have {} bytes, the file ends after {}: the "
        "file is truncated",
        path, headerBytes, file_.size() - 8);
  json header = parseHeader(path, file_.text().substr(8, headerBytes));
  if (!header.is_object())
    throw Error("{}: the header is not a JSON object", path);

  const unsigned char *data = file_.data() + 8 + headerBytes;
  uint64_t dataBytes = file_.size() - 8 - headerBytes;
  std::vector<std::pair<Range, std::string>> ranges;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = readMetadata(path, entry);
      continue;
    }
    StoredTensor tensor;
    Range range = readTensor(path, name, entry, dataBytes, tensor);
    tensor.data = data + range.begin;
    ranges.emplace_back(range, name);
    tensors_.push_back(std::move(tensor));
  }
  checkCoverage(path, std::move(ranges), dataBytes);
}

const StoredTensor *SafetensorsFile::find(const std::string &name) const {
  for (const StoredTensor &tensor : tensors_)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

// Wide elements come first, so every tensor is aligned to its element size.
std::vector<size_t> orderInFile(const std::vector<TensorToStore> &tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    uint64_t wide = safetensorsElementSize(tensors[a].dtype);
    uint64_t other = safetensorsElementSize(tensors[b].dtype);
    return wide != other ? wide > other : tensors[a].name < tensors[b].name;
  });
  return order;
}

uint64_t bytesOf(const TensorToStore &tensor) {
  uint64_t bytes = safetensorsElementSize(tensor.dtype);
  if (bytes == 0)
    throw std::invalid_argument(fmt::format("tensor '{}': unknown dtype '{}'",
                                            tensor.name, tensor.dtype));
  for (int64_t size : tensor.shape)
    bytes *= static_cast<uint64_t>(size);
  return bytes;
}

/// Returns what is before the data of a file, and stores where in the file each
/// tensor begins.
static std::string
layOutFile(const std::vector<TensorToStore> &tensors,
           const std::map<std::string, std::string> &metadata,
           std::vector<uint64_t> &begins) {
  json header = json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  begins.resize(tensors.size());
  for (size_t index : orderInFile(tensors)) {
    const TensorToStore &tensor = tensors[index];
    uint64_t bytes = bytesOf(tensor);
    if (header.contains(tensor.name))
      throw std::invalid_argument(
          fmt::format("two tensors are named '{}'", tensor.name));
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    begins[index] = offset;
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::string length;
  for (int i = 0; i < 8; ++i)
    length += static_cast<char>(text.size() >> (8 * i));
  for (uint64_t &begin : begins)
    begin += length.size() + text.size();
  return length + text;
}

void streamSafetensors(const std::vector<TensorToStore> &tensors,
                       const std::map<std::string, std::string> &metadata,
                       const TensorSource &source, const WriteBytes &write) {
  std::vector<uint64_t> begins;
  std::string head = layOutFile(tensors, metadata, begins);
  write(head.data(), head.size());
  for (size_t index : orderInFile(tensors))
    source(index, write);
}

SafetensorsWriter::SafetensorsWriter(
    const std::string &path, const std::vector<TensorToStore> &tensors,
    const std::map<std::string, std::string> &metadata)
    : path_(path) {
  expect(file_.open(path));
  std::string head = layOutFile(tensors, metadata, begins_);
  expect(file_.write(head.data(), head.size()));
}

void SafetensorsWriter::write(size_t index, uint64_t offset, const void *data,
                              uint64_t bytes) {
  expect(file_.writeAt(begins_[index] + offset, data, bytes));
}

void SafetensorsWriter::commit() { expect(file_.commit()); }

void SafetensorsWriter::expect(const std::string &error) const {
  if (!error.empty())
    throw Error("{}: {}", path_, error);
}

void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata,
                      const TensorSource &source) {
  auto expect = [&](const std::string &error) {
    if (!error.empty())
      throw Error("{}: {}", path, error);
  };
  WholeFile file;
  expect(file.open(path));
  streamSafetensors(tensors, metadata, source,
                    [&](const void *data, uint64_t bytes) {
                      expect(file.write(data, bytes));
                    });
  expect(file.commit());
}

void writeSafetensors(const std::string &path,
                      const std::vector<TensorToStore> &tensors,
                      const std::map<std::string, std::string> &metadata) {
  writeSafetensors(path, tensors, metadata,
                   [&](size_t index, const WriteBytes &write) {
                     write(tensors[index].data, bytesOf(tensors[index]));
                   });
}

} // namespace ppopt::train
