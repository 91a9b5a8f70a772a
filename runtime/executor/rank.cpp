//===- rank.cpp - One rank of the job -------------------------------------===//

#include "executor/rank.h"

#include "base/error.h"
#include "executor/devices.h"
#include "executor/serving.h"
#include "geometry/collective.h"

#include <algorithm>
#include <cstdint>
#include <set>

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

std::vector<schema::HeldParameter>
findHeld(const Place &place, const Program &program, int64_t meshRank) {
  std::vector<schema::HeldParameter> found;
  for (const PlaceParameter &held : place.parameters)
    found.push_back(schema::findHeld(held, program.parameters[held.parameter],
                                     program.plan, meshRank));
  return found;
}

std::vector<std::unique_ptr<PlaceMemory>>
allocate(const Program &program, int64_t rank, device::Device &device) {
  std::vector<std::unique_ptr<PlaceMemory>> memory(program.places.size());
  for (Place place : program.places)
    if (program.local || place.place == program.placeOf(rank).place) {
      schema::resolve(place, program.plan, rank);
      int64_t meshRank = schema::meshRankOn(place.place, program.plan, rank);
      memory[place.place] = std::make_unique<PlaceMemory>(
          std::move(place), program, meshRank, device);
    }
  return memory;
}

std::optional<schema::LocalActions> resolveLocal(const Program &program,
                                                 int64_t rank) {
  std::optional<schema::LocalActions> local = program.local;
  if (local)
    schema::resolve(*local, program.plan, rank);
  return local;
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

int defineCollective(ppopt_rank &rank, const Action &action) {
  comm::CollectiveSpec spec;
  spec.name = std::to_string(action.id);
  spec.group = action.group();
  spec.channel = int(action.channel);
  spec.kind = action.collective();
  spec.elements = action.elements;
  spec.type = *comm::parseElementType(spell(action.type));
  if (rank.deviceChannels) {
    spec.data = rank.at(action.address).opaque();
    return rank.deviceChannels->define(spec);
  }
  spec.data = rank.staging.add(rank.at(action.address),
                               action.elements * byteSize(action.type),
                               /*sends=*/true, /*receives=*/true);
  spec.scratch =
      rank.staging.addScratch(rank.at(action.scratch), action.scratchBytes);
  spec.scratchBytes = action.scratchBytes;
  return rank.channels->define(spec);
}

std::string nameTransfer(const ppopt_rank &rank, const Action &action) {
  return fmt::format("{} {} of microbatch {}", spell(action.op),
                     rank.program.transfers[action.transfer].name,
                     action.microbatch);
}

int defineTransfer(ppopt_rank &rank, const Action &action) {
  comm::TransferSpec spec;
  spec.sends = action.op == Operation::send;
  spec.name = nameTransfer(rank, action);
  std::optional<int64_t> peer =
      rank.program.plan.getMesh().peer(rank.index, action.peer);
  if (!peer)
    throw Error("program: the mesh has no place {}", action.peer);
  spec.peer = int(*peer);
  spec.channel = int(action.channel);
  spec.bytes = size_t(action.bytes);
  if (rank.deviceChannels) {
    spec.data = rank.at(action.address).opaque();
    return rank.deviceChannels->define(spec);
  }
  spec.data = rank.staging.add(rank.at(action.address), action.bytes,
                               spec.sends, !spec.sends);
  return rank.channels->define(spec);
}

int defineLocally(ppopt_rank &rank, const Action &action) {
  device::DevicePointer data = rank.memoryOf(action.place).at(action.address);
  if (isTransfer(action.op)) {
    comm::LocalTransfer spec;
    spec.name = nameTransfer(rank, action);
    spec.sends = action.op == Operation::send;
    spec.place = int(action.place);
    spec.peer = int(action.peer);
    spec.channel = int(action.channel);
    spec.data = rank.staging.add(data, action.bytes, spec.sends, !spec.sends);
    spec.bytes = size_t(action.bytes);
    return rank.localChannels->define(spec);
  }
  geometry::Mesh mesh = rank.program.plan.getMesh();
  comm::LocalCollective spec;
  spec.name = std::to_string(action.id);
  spec.group = mesh.members(action.group(),
                            mesh.firstRank(action.place).value_or(rank.index));
  spec.channel = int(action.channel);
  spec.data = rank.staging.add(data, action.elements * byteSize(action.type),
                               /*sends=*/true, /*receives=*/true);
  spec.elements = action.elements;
  spec.type = *comm::parseElementType(spell(action.type));
  spec.kind = action.collective();
  return rank.localChannels->define(spec);
}

int define(ppopt_rank &rank, const Action &action) {
  if (rank.localChannels)
    return defineLocally(rank, action);
  return isTransfer(action.op) ? defineTransfer(rank, action)
                               : defineCollective(rank, action);
}

void defineOperation(ppopt_rank &rank, const Action &action) {
  try {
    int number = define(rank, action);
    if (number != action.operation)
      throw Error("program: operation {} was defined as {}", action.operation,
                  number);
  } catch (const std::invalid_argument &error) {
    throw Error("program: {}", error.what());
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
  if (!rank.channels && !rank.deviceChannels)
    return 0;
  geometry::Mesh mesh = rank.program.plan.getMesh();
  int64_t first = mesh.firstRank(rank.place.place).value_or(rank.index);
  int64_t bytes = 0;
  auto add = [&](const auto &spec, geometry::Collective kind) {
    geometry::Group group = spec.group();
    auto sent = [&](int64_t member) {
      return geometry::elementsSent(kind, spec.elements, mesh.size(group),
                                    mesh.position(group, member).value_or(0));
    };
    bytes += (sent(rank.index) - sent(first)) * byteSize(spec.type);
  };
  for (const Action &action : rank.actions) {
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

} // namespace

PlaceMemory::PlaceMemory(Place resolved, const Program &program,
                         int64_t meshRank, device::Device &device)
    : place(std::move(resolved)),
      parameters(findHeld(place, program, meshRank)),
      arena(device.allocate(place.arenaBytes, "the arena")),
      image(PPOPT_KEY_OFFSET(program.plan.microbatches)) {
  static_assert(PPOPT_MAX_AXES == geometry::mostAxes);
  std::vector<int64_t> own = program.plan.getMesh().coordinates(meshRank);
  std::copy(own.begin(), own.end(), coordinates);
}

ppopt_rank::ppopt_rank(const Program &program, const ppopt_task_fn *tasks,
                       comm::Transport *transport, const RankOptions &options)
    : program(program), index(indexOf(program, transport)), tasks(tasks),
      transport(transport), options(options),
      device(makeDevice(program.plan.target.name,
                        deviceOptions(program, options, index))),
      compute(device->makeStream("compute")),
      memory(allocate(program, index, *device)),
      place(memory[program.placeOf(index).place]->place),
      local(resolveLocal(program, index)),
      actions(local ? local->actions : place.actions),
      evalActions(local ? local->evalActions : place.evalActions),
      staging(*device, compute) {
  for (const std::unique_ptr<PlaceMemory> &held : memory) {
    if (!held)
      continue;
    for (Buffer buffer : inputBuffers(held->place, held->arena))
      inputs.push_back(buffer);
    for (const schema::HeldParameter &each : held->parameters)
      parameters.push_back({each.parameter, each.value.begin, each.value.end,
                            held->at(each.value.address)});
    const Predicted &own = held->place.predicted;
    predicted.launches += own.launches;
    predicted.flops += own.flops;
    predicted.bytesSent += own.bytesSent;
  }
  defineCode(program, *device);
  if (program.local) {
    localChannels.emplace();
  } else if (transport && options.collectives == comm::Collectives::Device) {
    device::Communication *communication = device->communication();
    if (!communication)
      throw Error("this program's device leaves communication to the host: use "
                  "--collectives=ring");
    deviceChannels.emplace(*device, *communication, compute, *transport,
                           program.plan.getMesh(), int(program.unusedChannel()),
                           !program.transfers.empty());
  } else if (transport) {
    try {
      channels.emplace(*transport, program.plan.getMesh(), options.collectives);
    } catch (const std::invalid_argument &error) {
      throw Error("communication: {}", error.what());
    }
  }
  size_t mostArguments = 0;
  for (const auto *list : {&actions, &evalActions})
    for (const Action &action : *list) {
      mostArguments = std::max(mostArguments, action.arguments.size());
      if (action.kind == ActionKind::start &&
          (channels || deviceChannels || localChannels))
        defineOperation(*this, action);
    }
  try {
    collectives.define();
  } catch (const std::invalid_argument &error) {
    throw Error("program: {}", error.what());
  }
  if (channels)
    channels->open(std::max(mostTransfersInFlight(actions),
                            mostTransfersInFlight(evalActions)));
  if (deviceChannels)
    deviceChannels->open();
  predicted.bytesSent += bytesBeyondPredicted(*this);
  arguments.resize(mostArguments);
}

void ppopt_rank::synchronize(bool isGraph) {
  if (deviceChannels)
    deviceChannels->synchronize(isGraph);
  else
    device->synchronize(compute);
}

int64_t ppopt_rank::bytesStarted() const {
  if (deviceChannels)
    return int64_t(deviceChannels->bytesStarted());
  uint64_t sent = transport ? transport->counters().bytesSent : 0;
  if (serving)
    sent -= serving->bytesSent(); // no part of a step
  return int64_t(sent + (channels ? channels->pendingBytes() : 0));
}
