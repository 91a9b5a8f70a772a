//===- added_product.cpp - What an export adds to a parameter -------------===//

#include "checkpoint/added_product.h"

#include "base/error.h"
#include "checkpoint/pass_tensor.h"
#include "checkpoint/stored_numbers.h"
#include "executor/rank.h"

#include <memory>

namespace ppopt::train {

using runtime::ElementType;
using runtime::Parameter;

/// Returns a parameter's elements on rank 0, and nothing on the others.
static std::vector<double> gather(const ppopt_rank &rank, size_t index) {
  const Parameter &parameter = rank.program.parameters[index];
  std::string dtype = safetensorsDtype(spell(parameter.type));
  int64_t size = byteSize(parameter.type);
  std::vector<double> elements;
  passToRank0(rank, findCopy(rank.program, {int64_t(index)}),
              {1, parameter.globalElements(), size}, /*isTransposed=*/false,
              [&](const void *data, uint64_t bytes) {
                const char *from = static_cast<const char *>(data);
                for (uint64_t at = 0; at < bytes; at += uint64_t(size))
                  elements.push_back(readNumber(dtype, from + at));
              });
  return elements;
}

ProductToAdd::ProductToAdd(const ppopt_rank &rank, const AddedProduct &added)
    : scale_(added.scale), left_(gather(rank, added.left)),
      right_(gather(rank, added.right)) {
  const auto &parameters = rank.program.parameters;
  rows_ = parameters[added.left].globalShape()[0];
  depth_ = parameters[added.right].globalShape()[0];
  columns_ = parameters[added.right].globalShape()[1];
}

double ProductToAdd::at(int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t k = 0; k < depth_; ++k)
    sum +=
        left_[size_t(row * depth_ + k)] * right_[size_t(k * columns_ + column)];
  return scale_ * sum;
}

WriteBytes ProductToAdd::addTo(const std::string &name, ElementType type,
                               bool isTransposed,
                               const WriteBytes &write) const {
  std::string dtype = safetensorsDtype(spell(type));
  int64_t size = byteSize(type);
  auto done = std::make_shared<int64_t>(0);
  return [=](const void *data, uint64_t bytes) {
    int64_t count = int64_t(bytes) / size;
    std::vector<double> sums(static_cast<size_t>(count));
    const char *from = static_cast<const char *>(data);
    for (int64_t i = 0; i < count; ++i, ++*done) {
      int64_t row = *done / (isTransposed ? rows_ : columns_),
              column = *done % (isTransposed ? rows_ : columns_);
      if (isTransposed)
        std::swap(row, column);
      sums[size_t(i)] = readNumber(dtype, from + i * size) + at(row, column);
    }
    std::vector<uint64_t> rounded((bytes + 7) / 8); // aligned for any type
    if (convertNumbers("F64", reinterpret_cast<const char *>(sums.data()),
                       count, type, rounded.data()) < count)
      throw Error("--export-map: the tensor '{}' with what is added to it has "
                  "a number that {} does not have: it would be infinite",
                  name, spell(type));
    write(rounded.data(), bytes);
  };
}

} // namespace ppopt::train
