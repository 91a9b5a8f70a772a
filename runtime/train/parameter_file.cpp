//===- parameter_file.cpp - Parameters in safetensors files ---------------===//

#include "train/parameter_file.h"

#include "core/error.h"
#include "core/rank.h"
#include "train/checkpoint.h"
#include "train/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ppopt::train {
namespace {

using runtime::Buffer;
using runtime::Parameter;
using runtime::Program;

} // namespace

InitialParameters::InitialParameters(const Program &program,
                                     const std::string &path)
    : program_(program), files_(parameterFiles(path)) {
  std::string wrong =
      files_.differencesFrom(wantedParameters(program), "not a parameter");
  if (!wrong.empty())
    throw Error("--init {}: the tensors are not this model's parameters; {}",
                path, wrong);
}

void InitialParameters::load(const std::vector<Buffer> &parameters) const {
  for (const Buffer &buffer : parameters) {
    const StoredTensor &tensor =
        *files_.find(program_.parameters[buffer.index].name);
    std::memcpy(buffer.data, tensor.data, tensor.bytes);
  }
}

namespace {

/// What is exported of one parameter: bytes on the rank that owns it.
struct Exported {
  int owner; ///< a rank
  runtime::Address address;
  int64_t bytes;
};

constexpr int64_t kPiece = int64_t{4} << 20;

/// One message a piece, so that nobody needs room for a whole tensor.
template <typename Use> void forEachPiece(int64_t bytes, const Use &use) {
  for (int64_t offset = 0; offset < bytes; offset += kPiece)
    use(offset, std::min(kPiece, bytes - offset));
}

void sendToRank0(const ppopt_rank &rank, const Exported &exported) {
  const char *data = rank.at(exported.address);
  forEachPiece(exported.bytes, [&](int64_t offset, int64_t bytes) {
    Messages(rank).send(data + offset, bytes, 0);
  });
}

void receiveFromOwner(const ppopt_rank &rank, const Exported &exported,
                      std::vector<char> &piece, const WriteBytes &write) {
  piece.resize(std::min(kPiece, exported.bytes));
  forEachPiece(exported.bytes, [&](int64_t, int64_t bytes) {
    Messages(rank).receive(piece.data(), bytes, exported.owner);
    write(piece.data(), bytes);
  });
}

int ownerOf(const ppopt_rank &rank, const Parameter &parameter) {
  bool alone = rank.program.plan.ranks() == 1;
  int place = int(parameter.places.front());
  return alone ? 0 : rank.channels->mesh().firstRank(place);
}

/// `offset` is in the arena of the owner's place.
Exported exportedAt(const ppopt_rank &rank, const Parameter &parameter,
                    int64_t offset, int64_t bytes) {
  return {ownerOf(rank, parameter), {parameter.places.front(), offset}, bytes};
}

/// `select` gives the offset of what is exported of a parameter, or -1;
/// `typeOf` its type.
template <typename Select, typename TypeOf>
void exportTensors(const ppopt_rank &rank, const std::string &path,
                   const Select &select, const TypeOf &typeOf) {
  const Program &program = rank.program;
  std::vector<TensorToStore> tensors;
  std::vector<Exported> exported;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    int64_t offset = select(program.ownedParameter(i));
    if (offset < 0)
      continue;
    runtime::ElementType type = typeOf(parameter);
    tensors.push_back(
        {parameter.name, safetensorsDtype(spelling(type)), parameter.shape});
    exported.push_back(exportedAt(rank, parameter, offset,
                                  parameter.elements() * byteSize(type)));
  }
  if (rank.index != 0) {
    for (size_t index : orderInFile(tensors))
      if (exported[index].owner == rank.index)
        sendToRank0(rank, exported[index]);
    return;
  }
  std::vector<char> piece;
  writeSafetensors(path, tensors, {{"format", "pt"}},
                   [&](size_t index, const WriteBytes &write) {
                     const Exported &wanted = exported[index];
                     if (wanted.owner == 0)
                       write(rank.at(wanted.address), wanted.bytes);
                     else
                       receiveFromOwner(rank, wanted, piece, write);
                   });
}

} // namespace

void exportParameters(const ppopt_rank &rank, const std::string &path) {
  exportTensors(
      rank, path,
      [](const runtime::PlaceParameter &held) { return held.offset; },
      [](const Parameter &parameter) { return parameter.type; });
}

void exportGradients(const ppopt_rank &rank, const std::string &path) {
  exportTensors(
      rank, path,
      [](const runtime::PlaceParameter &held) { return held.gradient; },
      [](const Parameter &parameter) { return parameter.gradientType; });
}

void gatherParameters(const ppopt_rank &rank, const std::vector<Buffer> &into) {
  const Program &program = rank.program;
  std::vector<char *> targets(program.parameters.size());
  for (const Buffer &buffer : into)
    targets[buffer.index] = buffer.data;
  std::vector<char> piece;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    Exported wanted = exportedAt(
        rank, parameter, program.ownedParameter(i).offset, parameter.bytes());
    if (rank.index != 0) {
      if (wanted.owner == rank.index)
        sendToRank0(rank, wanted);
      continue;
    }
    auto write = [&](const void *data, uint64_t bytes) {
      std::memcpy(targets[i], data, bytes);
      targets[i] += bytes;
    };
    if (wanted.owner == 0)
      write(rank.at(wanted.address), wanted.bytes);
    else
      receiveFromOwner(rank, wanted, piece, write);
  }
}

} // namespace ppopt::train
