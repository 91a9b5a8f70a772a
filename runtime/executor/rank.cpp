//===- rank.cpp - One rank of the job -------------------------------------===//

#include "executor/rank.h"

#include "base/error.h"
#include "executor/devices.h"
#include "geometry/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>

using namespace ppopt;
using namespace ppopt::runtime;

namespace {

int indexOf(const Program &program, comm::Transport *transport) {
  int64_t ranks = transport ? transport->size() : 1;
  if (ranks != program.plan.ranks())
    throw Error("the plan has {} ranks, and the job {}", program.plan.ranks(),
                ranks);
  return transport ? transport->rank() : 0;
}

device::DeviceOptions deviceOptions(const Program &program,
                                    const RankOptions &options, int rank) {
  device::DeviceOptions result;
  result.rank = rank;
  result.threads = options.threads;
  result.choice = options.choice;
  result.code = options.code;
  result.gpu = program.plan.target.gpu.value_or("");
  return result;
}

/// Prepares the kernels and matmuls of the program.
void defineCode(const Program &program, device::Device &device) {
  for (const Kernel &kernel : program.kernels)
    device.defineKernel({kernel.name, kernel.ins, kernel.outs,
                         kernel.threads.value_or(1),
                         kernel.shared.value_or(0)});
  for (const Matmul &matmul : program.matmuls) {
    device::MatmulSpec spec{matmul.name, matmul.descriptor, matmul.workspace,
                            std::nullopt};
    if (matmul.kernel)
      spec.kernel = {matmul.kernel->name, matmul.kernel->blocks,
                     matmul.kernel->threads, matmul.kernel->shared};
    device.defineMatmul(spec);
  }
}

int define(const Action &action, const PlaceMemory &memory,
           Communicator &communicator) {
  CollectivePart part;
  part.name = std::to_string(action.id);
  part.rank = int(memory.meshRank);
  part.group = action.group();
  part.channel = int(action.channel);
  part.kind = action.collective();
  part.elements = action.elements;
  part.type = *comm::parseElementType(spell(action.type));
  part.data = memory.at(action.address).opaque();
  part.scratch = memory.at(action.scratch).opaque();
  part.scratchBytes = size_t(action.scratchBytes);
  return communicator.define(part);
}

int define(const Action &action, const PlaceMemory &memory,
           Communicator &communicator, const Program &program) {
  TransferEnd end;
  end.name =
      fmt::format("{} {} of microbatch {}", spell(action.op),
                  program.transfers[action.transfer].name, action.microbatch);
  end.rank = int(memory.meshRank);
  end.sends = action.op == Operation::send;
  std::optional<int64_t> peer =
      program.plan.getMesh().peer(memory.meshRank, action.peer);
  if (!peer)
    throw Error("program: the mesh has no place {}", action.peer);
  end.peer = int(*peer);
  end.channel = int(action.channel);
  end.bytes = size_t(action.bytes);
  end.data = memory.at(action.address).opaque();
  return communicator.define(end);
}

/// Defines the operations that the actions start, with the numbers that the
/// program gives them.
void defineOperations(const Program &program, const HeldPlaces &places,
                      Communicator &communicator) {
  for (const auto *list : places.lists())
    for (const Action &action : *list) {
      if (action.kind != ActionKind::start)
        continue;
      const PlaceMemory &memory = places.memoryOf(action.place);
      int number = isTransfer(action.op)
                       ? define(action, memory, communicator, program)
                       : define(action, memory, communicator);
      if (number != action.operation)
        throw Error("program: operation {} was defined as {}", action.operation,
                    number);
    }
}

int mostTransfersInFlight(const std::vector<Action> &actions) {
  std::set<int64_t> inFlight;
  size_t most = 0;
  for (const Action &action : actions) {
    if (action.startsTransfer())
      inFlight.insert(action.operation);
    else if (action.kind == ActionKind::wait)
      inFlight.erase(action.operation);
    most = std::max(most, inFlight.size());
  }
  return int(most);
}

/// Returns the bytes that this rank's ring collectives send in a step, minus
/// those of the rank that the prediction is for: the rank of the place with
/// coordinate 0 on all other axes. They differ if the ranks do not divide the
/// elements.
int64_t bytesBeyondPredicted(const ppopt_rank &rank) {
  geometry::Mesh mesh = rank.program.plan.getMesh();
  int64_t first = mesh.firstRank(rank.places.own.place).value_or(rank.index);
  int64_t bytes = 0;
  auto add = [&](const auto &spec, geometry::Collective kind) {
    geometry::Group group = spec.group();
    auto sent = [&](int64_t member) {
      return geometry::elementsSent(kind, spec.elements, mesh.size(group),
                                    mesh.position(group, member).value_or(0));
    };
    bytes += (sent(rank.index) - sent(first)) * byteSize(spec.type);
  };
  for (const Action &action : rank.places.actions) {
    if (action.startsCollective())
      add(action, action.collective());
    if (action.kind != ActionKind::run)
      continue;
    for (const TaskCollective &collective : rank.program.collectives)
      if (collective.task == action.task)
        add(collective, collective.op);
  }
  return bytes;
}

Predicted predict(const ppopt_rank &rank) {
  Predicted predicted;
  for (const std::unique_ptr<PlaceMemory> &held : rank.places.memory) {
    if (!held)
      continue;
    const Predicted &own = held->place.predicted;
    predicted.launches += own.launches;
    predicted.flops += own.flops;
    predicted.bytesSent += own.bytesSent;
  }
  predicted.bytesSent += bytesBeyondPredicted(rank);
  return predicted;
}

} // namespace

ppopt_rank::ppopt_rank(const Program &program, const ppopt_task_fn *tasks,
                       comm::Transport *transport, const RankOptions &options)
    : program(program), index(indexOf(program, transport)),
      transport(transport), options(options),
      device(makeDevice(program.plan.target.name,
                        deviceOptions(program, options, index))),
      compute(device->makeStream("compute")), places(program, index, *device),
      communicator(options.communicator(
          {program, *device, compute, places.memoryOf(places.own.place).arena,
           transport, background, options.collectives})),
      collectives(*this), calls(*this, tasks), results(*this),
      predicted(predict(*this)) {
  defineCode(program, *device);
  try {
    defineOperations(program, places, *communicator);
    collectives.define();
  } catch (const std::invalid_argument &error) {
    throw Error("program: {}", error.what());
  }
  // An exchange of averages has no transfers.
  communicator->open(std::max(mostTransfersInFlight(places.actions),
                              mostTransfersInFlight(places.evalActions)));
}
