//===- parameter_file.cpp - Parameters in safetensors files ---------------===//

#include "checkpoint/parameter_file.h"

#include "base/error.h"
#include "checkpoint/added_product.h"
#include "checkpoint/pass_tensor.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace ppopt::train {

using runtime::Parameter;
using runtime::ParameterBuffer;
using runtime::Program;

std::vector<TensorToStore> bufferTensors(const Program &program,
                                         std::string_view bytes) {
  std::vector<TensorToStore> tensors;
  uint64_t used = 0;
  for (const runtime::PersistentBuffer &buffer : program.buffers) {
    tensors.push_back(
        {buffer.name, buffer.dtype, buffer.shape, bytes.data() + used});
    used += bytesOf(tensors.back());
  }
  if (used != bytes.size())
    throw Error("program: its buffers are {} bytes, and the executable has {}: "
                "it is damaged, compile it again",
                used, bytes.size());
  return tensors;
}

namespace {

/// Exports one tensor per parameter with the names and layouts in `inFile`, and
/// the buffers. `select` returns the copy of a parameter's tensor that is
/// exported, or nothing to skip it; `typeOf` returns its type.
template <typename Select, typename TypeOf>
void exportTensors(const ppopt_rank &rank, const std::string &path,
                   const std::vector<ParameterTensor> &inFile,
                   const std::vector<TensorToStore> &buffers,
                   const Select &select, const TypeOf &typeOf) {
  const Program &program = rank.program;
  std::vector<TensorToStore> tensors;
  struct Exported {
    TensorCopy copy;
    device::Matrix matrix; ///< of one row, unless transposed
    bool transposed;
    std::optional<AddedProduct> plus;
    runtime::ElementType type;
    int64_t first = 0; ///< element of the copy that the tensor begins with
  };
  std::vector<Exported> exported;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    std::optional<TensorCopy> copy = select(i);
    if (!copy || inFile[i].name.empty())
      continue;
    runtime::ElementType type = typeOf(parameter);
    const std::vector<int64_t> &shape = parameter.globalShape();
    Exported one{std::move(*copy),
                 {1, parameter.globalElements(), byteSize(type)},
                 inFile[i].transposed,
                 inFile[i].plus,
                 type};
    if (one.transposed)
      one.matrix = {shape[0], shape[1], byteSize(type)};
    std::vector<std::string> names = inFile[i].aliases;
    const std::vector<std::string> &parts = inFile[i].parts;
    if (parts.empty()) {
      names.push_back(inFile[i].name);
    } else {
      names = parts;
      one.matrix.columns /= int64_t(parts.size());
    }
    for (const std::string &name : names) {
      tensors.push_back({name, safetensorsDtype(spell(type)),
                         shapeInFile(parameter, inFile[i])});
      exported.push_back(one);
      if (!parts.empty())
        one.first += one.matrix.columns;
    }
  }
  tensors.insert(tensors.end(), buffers.begin(), buffers.end());
  auto pass = [&](size_t index, const WriteBytes &write) {
    if (index >= exported.size()) {
      if (rank.index == 0)
        write(tensors[index].data, bytesOf(tensors[index]));
      return;
    }
    const auto &[copy, matrix, transposed, plus, type, first] = exported[index];
    if (!plus)
      return passToRank0(rank, copy, matrix, transposed, write, first);
    ProductToAdd product(rank, *plus);
    passToRank0(rank, copy, matrix, transposed,
                product.addTo(tensors[index].name, type, transposed, write));
  };
  if (rank.index == 0)
    return writeSafetensors(path, tensors, {{"format", "pt"}}, pass);
  for (size_t index : orderInFile(tensors))
    pass(index, nullptr);
}

} // namespace

void exportParameters(const ppopt_rank &rank, const std::string &path,
                      const std::vector<ParameterTensor> &tensors,
                      const std::vector<TensorToStore> &buffers) {
  exportTensors(
      rank, path, tensors, buffers,
      [&](size_t parameter) {
        return std::optional(findCopy(rank.program, {int64_t(parameter)}));
      },
      [](const Parameter &parameter) { return parameter.type; });
}

void exportParameters(const ppopt_rank &rank, const std::string &path) {
  exportParameters(rank, path, ownTensors(rank.program));
}

void exportGradients(const ppopt_rank &rank, const std::string &path) {
  std::vector<ParameterTensor> tensors;
  for (const Parameter &parameter : rank.program.parameters)
    tensors.push_back({parameter.name});
  exportTensors(
      rank, path, tensors, /*buffers=*/{},
      [&](size_t parameter) -> std::optional<TensorCopy> {
        if (!rank.program.ownedParameter(parameter).gradient)
          return std::nullopt;
        return findCopy(rank.program,
                        {int64_t(parameter), schema::TensorOf::summedGradient});
      },
      [](const Parameter &parameter) { return parameter.gradientType; });
}

void gatherParameters(const ppopt_rank &rank, const ppopt_rank *into) {
  const Program &program = rank.program;
  std::vector<device::DevicePointer> targets(program.parameters.size());
  if (into)
    for (const ParameterBuffer &buffer : into->places.parameters)
      targets[buffer.index] = buffer.data;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    passToRank0(rank, findCopy(program, {int64_t(i)}),
                {1, parameter.globalElements(), byteSize(parameter.type)},
                /*isTransposed=*/false, [&](const void *data, uint64_t bytes) {
                  into->device->copyIn(into->compute, targets[i], data,
                                       int64_t(bytes));
                  into->device->synchronize(into->compute); // `data` changes
                  targets[i] = targets[i] + int64_t(bytes);
                });
  }
}

} // namespace ppopt::train
