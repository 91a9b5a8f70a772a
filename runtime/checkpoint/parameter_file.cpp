//===- parameter_file.cpp - Parameters in safetensors files ---------------===//

#include "checkpoint/parameter_file.h"

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/pass_tensor.h"
#include "device/runs.h"
#include "device/transposed.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace ppopt::train {
namespace {

using runtime::Parameter;
using runtime::ParameterBuffer;
using runtime::Program;

/// Checks that a second tensor of a parameter is an exact copy. Otherwise
/// ignoring it would lose values that the file's model uses. `source` is where
/// the tensors are, for the message.
void checkCopy(const std::string &source, const StoredTensor &copy,
               const StoredTensor &original) {
  if (copy.dtype != original.dtype || copy.shape != original.shape ||
      std::memcmp(copy.data, original.data, copy.bytes) != 0)
    throw Error("--init {}: the tensors '{}' and '{}' differ, and are "
                "one parameter of this model: it needs a parameter of its own "
                "for the first",
                source, copy.name, original.name);
}

} // namespace

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

/// The program computes with the values that a buffer had when it was imported.
void checkBuffer(const std::string &path, const StoredTensor &stored,
                 const TensorToStore &buffer) {
  if (stored.bytes > 0 &&
      std::memcmp(stored.data, buffer.data, stored.bytes) != 0)
    throw Error("--init {}: the buffer '{}' has other values than the model "
                "was imported with, which are a part of this program: import "
                "and compile a model that has those of the file",
                path, buffer.name);
}

} // namespace

InitialParameters::InitialParameters(const Program &program,
                                     const std::string &path,
                                     const std::vector<TensorToStore> &buffers)
    : program_(program), files_(parameterFiles(path)),
      tensors_(ownTensors(program)) {
  std::vector<WantedTensor> wanted = wantedParameters(program);
  std::map<std::string, std::string> copies; // and which tensor each copies
  for (size_t i = 0; i < wanted.size(); ++i)
    for (const std::string &alias : tensors_[i].aliases) {
      if (!files_.find(alias))
        continue;
      if (files_.find(wanted[i].name)) {
        copies[alias] = wanted[i].name;
      } else {
        wanted[i].parameter = wanted[i].name;
        tensors_[i].name = wanted[i].name = alias;
      }
    }
  for (const TensorToStore &buffer : buffers)
    if (files_.find(buffer.name))
      wanted.push_back({buffer.name, buffer.dtype, buffer.shape});
  std::string wrong = files_.differencesFrom(
      wanted, "not a parameter",
      [&](const std::string &name) { return copies.count(name) > 0; });
  if (!wrong.empty())
    throw Error("--init {}: the tensors are not this model's parameters; {}; "
                "of a file that another program wrote, --init-map says how it "
                "names them",
                path, wrong);
  for (const auto &[copy, original] : copies)
    checkCopy(path, *files_.find(copy), *files_.find(original));
  for (const TensorToStore &buffer : buffers)
    if (const StoredTensor *stored = files_.find(buffer.name))
      checkBuffer(path, *stored, buffer);
}

namespace {

/// The names of a map's tensors in these files. Either all or none have the
/// optional prefix.
class NamesInFiles {
public:
  NamesInFiles(const ParameterMap &map, const TensorSet &files) : map_(map) {
    const std::string &prefix = map.optionalPrefix();
    auto first = files.tensors().lower_bound(prefix);
    if (!prefix.empty() &&
        (first == files.tensors().end() || first->first.rfind(prefix, 0) != 0))
      lacking_ = prefix;
  }

  std::string inFiles(const std::string &name) const {
    bool lacks = !lacking_.empty() && name.rfind(lacking_, 0) == 0;
    return lacks ? name.substr(lacking_.size()) : name;
  }

  bool ignores(const std::string &inFiles) const {
    return map_.ignores(inFiles) ||
           (!lacking_.empty() && map_.ignores(lacking_ + inFiles));
  }

private:
  const ParameterMap &map_;
  std::string lacking_; ///< the prefix, if the files omit it
};

} // namespace

InitialParameters::InitialParameters(const Program &program,
                                     const std::string &path,
                                     const ParameterMap &map)
    : program_(program), files_(parameterFiles(path)),
      tensors_(map.tensorsOf(program)) {
  NamesInFiles names(map, files_);
  std::vector<WantedTensor> wanted = wantedParameters(program);
  std::set<std::string> taken, copies;
  for (size_t i = 0; i < wanted.size(); ++i) {
    tensors_[i].name = names.inFiles(tensors_[i].name);
    wanted[i].parameter = wanted[i].name;
    wanted[i].name = tensors_[i].name;
    wanted[i].transposed = tensors_[i].transposed;
    if (!taken.insert(tensors_[i].name).second)
      throw Error("--init {} by {}: the tensor '{}' is taken twice: once "
                  "without the optional prefix",
                  path, map.path(), tensors_[i].name);
  }
  for (const auto &[copy, original] : map.tied())
    if (taken.count(names.inFiles(original)))
      copies.insert(names.inFiles(copy));
  std::string wrong = files_.differencesFrom(
      wanted, "not in the map", [&](const std::string &name) {
        return names.ignores(name) || copies.count(name) > 0;
      });
  if (!wrong.empty())
    throw Error("--init {} by {}: the tensors are not this model's parameters; "
                "{}",
                path, map.path(), wrong);
  for (const auto &[copy, original] : map.tied()) {
    std::string name = names.inFiles(copy);
    const StoredTensor *stored = files_.find(name);
    if (stored && copies.count(name) && !taken.count(name))
      checkCopy(path + " by " + map.path(), *stored,
                *files_.find(names.inFiles(original)));
  }
}

void InitialParameters::load(
    device::Device &device, device::Stream stream,
    const std::vector<ParameterBuffer> &parameters) const {
  for (const ParameterBuffer &buffer : parameters) {
    const ParameterTensor &tensor = tensors_[buffer.index];
    const StoredTensor &stored = *files_.find(tensor.name);
    int64_t size = byteSize(program_.parameters[buffer.index].type);
    auto *from = reinterpret_cast<const char *>(stored.data);
    if (tensor.transposed)
      device::writeTransposed(device, stream, buffer.data, buffer.elements,
                              from, {stored.shape[0], stored.shape[1], size});
    else
      device::copyRunsIn(device, stream, buffer.data,
                         buffer.elements.inBytes(size), from);
  }
  device.synchronize(stream);
}

namespace {

/// Returns the copy of the rank with coordinate 0 on all axes but that of
/// places, and of those that share the parameter with it.
TensorCopy ownersCopy(const Program &program, size_t parameter) {
  return copiesOfParameter(program, parameter).front();
}

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
  };
  std::vector<Exported> exported;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    std::optional<TensorCopy> copy = select(i);
    if (!copy)
      continue;
    runtime::ElementType type = typeOf(parameter);
    const std::vector<int64_t> &shape = parameter.globalShape();
    Exported one{std::move(*copy),
                 {1, parameter.globalElements(), byteSize(type)},
                 inFile[i].transposed};
    if (one.transposed)
      one.matrix = {shape[0], shape[1], byteSize(type)};
    std::vector<std::string> names = inFile[i].aliases;
    names.push_back(inFile[i].name);
    for (const std::string &name : names) {
      tensors.push_back({name, safetensorsDtype(spell(type)),
                         shapeInFile(parameter, inFile[i])});
      exported.push_back(one);
    }
  }
  tensors.insert(tensors.end(), buffers.begin(), buffers.end());
  auto pass = [&](size_t index, const WriteBytes &write) {
    if (index >= exported.size()) {
      if (rank.index == 0)
        write(tensors[index].data, bytesOf(tensors[index]));
      return;
    }
    const auto &[copy, matrix, transposed] = exported[index];
    passToRank0(rank, copy, matrix, transposed, write);
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
        return std::optional(ownersCopy(rank.program, parameter));
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
        return firstCopyOfGradient(rank.program, parameter);
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
    passToRank0(rank, ownersCopy(program, i),
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
