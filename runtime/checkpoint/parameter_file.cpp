//===- parameter_file.cpp - Parameters in safetensors files ---------------===//

#include "checkpoint/parameter_file.h"

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_pieces.h"
#include "device/host_access.h"
#include "device/transposed.h"
#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace ppopt::train {
namespace {

using runtime::Buffer;
using runtime::Parameter;
using runtime::Program;

} // namespace

InitialParameters::InitialParameters(const Program &program,
                                     const std::string &path)
    : program_(program), files_(parameterFiles(path)),
      tensors_(ownTensors(program)) {
  std::string wrong =
      files_.differencesFrom(wantedParameters(program), "not a parameter");
  if (!wrong.empty())
    throw Error("--init {}: the tensors are not this model's parameters; {}; "
                "of a file that another program wrote, --init-map says how it "
                "names them",
                path, wrong);
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

/// Checks that a tied tensor is an exact copy. Otherwise ignoring it would lose
/// values that the file's model uses.
void checkCopy(const std::string &path, const ParameterMap &map,
               const StoredTensor &copy, const StoredTensor &original) {
  if (copy.dtype != original.dtype || copy.shape != original.shape ||
      std::memcmp(copy.data, original.data, copy.bytes) != 0)
    throw Error("--init {} by {}: the tensors '{}' and '{}' differ, and are "
                "one parameter of this model: it needs a parameter of its own "
                "for the first",
                path, map.path(), copy.name, original.name);
}

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
      checkCopy(path, map, *stored, *files_.find(names.inFiles(original)));
  }
}

void InitialParameters::load(device::Device &device, device::Stream stream,
                             const std::vector<Buffer> &parameters) const {
  for (const Buffer &buffer : parameters) {
    const Parameter &parameter = program_.parameters[buffer.index];
    const ParameterTensor &tensor = tensors_[buffer.index];
    const StoredTensor &stored = *files_.find(tensor.name);
    auto *from = reinterpret_cast<const char *>(stored.data);
    if (!tensor.transposed) {
      device.copyIn(stream, buffer.data, from, int64_t(stored.bytes));
      continue;
    }
    device::writeTransposed(
        device, stream, buffer.data, from,
        {stored.shape[0], stored.shape[1], byteSize(parameter.type)});
  }
  device.synchronize(stream);
}

namespace {

/// The bytes to export for one parameter.
struct Exported {
  TensorCopy pieces;
  /// The matrix whose transpose is exported, if one is. There is one piece.
  std::optional<device::Matrix> transposed = std::nullopt;
};

/// Calls `use` for each piece, which is one message, so that no rank needs
/// memory for a whole tensor.
template <typename Use> void forEachPiece(int64_t bytes, const Use &use) {
  for (int64_t offset = 0; offset < bytes; offset += device::pieceBytes)
    use(offset, std::min(device::pieceBytes, bytes - offset));
}

/// Writes the bytes of a piece; called on its rank.
void writeOwn(const ppopt_rank &rank, const Exported &exported,
              const TensorPiece &own, const WriteBytes &write) {
  device::DevicePointer data = rank.at(own.address);
  if (exported.transposed)
    return device::readTransposed(*rank.device, rank.compute, data,
                                  *exported.transposed, write);
  device::readPieces(*rank.device, rank.compute, data, own.bytes,
                     [&](const char *from, int64_t, int64_t all) {
                       forEachPiece(all, [&](int64_t offset, int64_t bytes) {
                         write(from + offset, bytes);
                       });
                     });
}

/// Sends rank 0 the pieces that this rank has.
void sendToRank0(const ppopt_rank &rank, const Exported &exported) {
  for (const TensorPiece &own : exported.pieces)
    if (own.rank == rank.index)
      writeOwn(rank, exported, own, [&](const void *data, uint64_t bytes) {
        Messages(rank).send(data, int64_t(bytes), 0);
      });
}

/// Writes all bytes, those of other ranks as they come; called on rank 0.
void writeAll(const ppopt_rank &rank, const Exported &exported,
              std::vector<char> &piece, const WriteBytes &write) {
  for (const TensorPiece &each : exported.pieces) {
    if (each.rank == 0) {
      writeOwn(rank, exported, each, write);
      continue;
    }
    piece.resize(std::min(device::pieceBytes, each.bytes));
    forEachPiece(each.bytes, [&](int64_t, int64_t bytes) {
      Messages(rank).receive(piece.data(), bytes, int(each.rank));
      write(piece.data(), bytes);
    });
  }
}

/// Returns the copy of the rank with coordinate 0 on all axes but that of
/// places.
TensorCopy ownersCopy(const Program &program, size_t parameter) {
  return copiesOfParameter(program, parameter).front();
}

/// Exports one tensor per parameter with the names and layouts in `inFile`.
/// `select` returns the copy of a parameter's tensor that is exported, or
/// nothing to skip it; `typeOf` returns its type.
template <typename Select, typename TypeOf>
void exportTensors(const ppopt_rank &rank, const std::string &path,
                   const std::vector<ParameterTensor> &inFile,
                   const Select &select, const TypeOf &typeOf) {
  const Program &program = rank.program;
  std::vector<TensorToStore> tensors;
  std::vector<Exported> exported;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    std::optional<TensorCopy> pieces = select(i);
    if (!pieces)
      continue;
    runtime::ElementType type = typeOf(parameter);
    tensors.push_back({inFile[i].name, safetensorsDtype(spell(type)),
                       shapeInFile(parameter, inFile[i])});
    exported.push_back({std::move(*pieces)});
    if (inFile[i].transposed)
      exported.back().transposed = {parameter.shape[0], parameter.shape[1],
                                    byteSize(type)};
  }
  std::vector<char> piece;
  if (rank.index != 0) {
    for (size_t index : orderInFile(tensors))
      sendToRank0(rank, exported[index]);
    return;
  }
  writeSafetensors(path, tensors, {{"format", "pt"}},
                   [&](size_t index, const WriteBytes &write) {
                     writeAll(rank, exported[index], piece, write);
                   });
}

} // namespace

void exportParameters(const ppopt_rank &rank, const std::string &path,
                      const std::vector<ParameterTensor> &tensors) {
  exportTensors(
      rank, path, tensors,
      [&](size_t parameter) {
        return std::optional(ownersCopy(rank.program, parameter));
      },
      [](const Parameter &parameter) { return parameter.type; });
}

void exportParameters(const ppopt_rank &rank, const std::string &path) {
  exportParameters(rank, path, ownTensors(rank.program));
}

void exportGradients(const ppopt_rank &rank, const std::string &path) {
  exportTensors(
      rank, path, ownTensors(rank.program),
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
    for (const Buffer &buffer : into->parameters)
      targets[buffer.index] = buffer.data;
  std::vector<char> piece;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    Exported wanted{ownersCopy(program, i)};
    if (rank.index != 0) {
      sendToRank0(rank, wanted);
      continue;
    }
    auto write = [&](const void *data, uint64_t bytes) {
      into->device->copyIn(into->compute, targets[i], data, int64_t(bytes));
      into->device->synchronize(into->compute); // `data` changes
      targets[i] = targets[i] + int64_t(bytes);
    };
    writeAll(rank, wanted, piece, write);
  }
}

} // namespace ppopt::train
