//===- device_communicator.cpp - Starts and waits that the device makes ---===//
//
// For devices with Communication. Operations run on a stream of their own, in
// the order of the starts, which is the same on all ranks that take part
// (pp-order-starts). A start records an event of the tasks' stream, for which
// the operation waits; a wait lets the tasks' stream wait for the operation.
// The host decides nothing and waits for nothing.
//
//   start 4      record(ready 4, compute)   wait(communication, ready 4)
//                ...                        record(done 4, communication)
//   wait 4       wait(compute, done 4)
//
// Transfers are not put in groups, which NCCL would start together: a group is
// complete as a whole, so the wait for its first transfer would wait for its
// last one too, which may depend on what comes after that wait.
//
//===----------------------------------------------------------------------===//

#include "base/error.h"
#include "device/communication.h"
#include "executor/communicator.h"
#include "executor/messages.h"
#include "geometry/mesh.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ppopt::runtime {

using device::DevicePointer;
using geometry::Collective;

/// Between two looks at an event.
constexpr std::chrono::microseconds pause(20);

namespace {

class DeviceCommunicator final : public Communicator {
public:
  DeviceCommunicator(const CommunicatorSettings &settings,
                     device::Communication &communication);
  /// Aborts what is in flight, and what does not end since this rank or another
  /// one has failed.
  ~DeviceCommunicator() override;

  // There is no scratch memory. Throw also if the chunks of a gather or a
  // reduce-scatter are not equal.
  int define(const CollectivePart &part) override;
  int define(const TransferEnd &end) override;
  /// Joins the communicators.
  void open(int transfers) override;

  std::optional<int64_t> start(int operation) override;
  Copied start(int operation, DevicePointer in, DevicePointer out,
               DevicePointer scratch) override {
    begin(operation, in, out);
    return {};
  }
  Copied wait(int operation) override;
  bool isStarted(int operation) const override {
    return operations[size_t(operation)].isStarted;
  }
  void waitForAll() override;
  void synchronize(bool isGraph) override;

  /// Then waits block until the operation is complete.
  void observe(comm::OperationObserver *newObserver) override {
    observer = newObserver;
  }
  /// As a ring sends them.
  int64_t bytesStarted() const override { return started; }
  bool passesThroughHost() const override { return false; }
  void countSent(int64_t bytes) override { started += bytes; }
  void forgetStarts(int64_t bytes) override;

private:
  struct Operation {
    std::string name;
    bool isTransfer = false, sends = false, isStarted = false;
    size_t group = 0;
    int peer = comm::Activity::anyRank;
    Collective kind = Collective::AllReduce;
    comm::ElementType type = comm::ElementType::F32;
    int64_t elements = 0; ///< of a transfer: bytes
    DevicePointer data;   ///< null: each start gives the memory
    int64_t chunkBytes = 0, bytesSent = 0;
    device::Event ready, done;
    uint64_t sequence = 0; ///< of its last start; 0: not since synchronize()
  };
  /// Ranks that share a communicator.
  struct Group {
    int channel = 0; ///< the lowest; ranks join in this order
    geometry::Members members;
    int communicator = -1; ///< -1: this rank alone
  };
  int add(Operation operation);
  size_t findGroup(int channel, geometry::Members members);
  void join(Group &group);
  void begin(int number, DevicePointer in, DevicePointer out);
  int findBlocking();
  bool drain() noexcept;

  device::Device &device;
  device::Communication &communication;
  const device::Stream compute, stream;
  const device::Event end;
  comm::Transport &transport;
  const geometry::Mesh mesh;
  const int channel; ///< of the transport, for ids
  comm::OperationObserver *observer = nullptr;
  std::vector<Group> groups;
  std::vector<Operation> operations;
  uint64_t starts = 0;
  int64_t started = 0; ///< bytes
  const int uncaughtBefore = std::uncaught_exceptions();
};

DeviceCommunicator::DeviceCommunicator(const CommunicatorSettings &settings,
                                       device::Communication &communication)
    : device(settings.device), communication(communication),
      compute(settings.compute), stream(device.makeStream("communication")),
      end(device.makeEvent()), transport(*settings.transport),
      mesh(settings.program.plan.getMesh()),
      channel(int(settings.program.unusedChannel())) {
  if (settings.program.transfers.empty())
    return;
  geometry::Members all;
  all.ranks.resize(size_t(transport.size()));
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  all.position = transport.rank();
  findGroup(-1, std::move(all)); // transfers are in the first group
}

DeviceCommunicator::~DeviceCommunicator() {
  bool isIdle = std::none_of(operations.begin(), operations.end(),
                             [](const Operation &each) {
                               return each.isStarted || each.sequence > 0;
                             });
  bool hasFailed = std::uncaught_exceptions() > uncaughtBefore;
  if (hasFailed || !isIdle || !drain())
    communication.abort();
}

/// Waits for the end of all operations: to leave a communicator blocks until
/// then, also if another rank has failed and never starts its part. Returns
/// false if they will not end.
bool DeviceCommunicator::drain() noexcept {
  try {
    device.record(end, stream);
    while (!device.isComplete(end)) {
      transport.throwIfFailed();
      communication.throwIfFailed();
      std::this_thread::sleep_for(pause);
    }
    return true;
  } catch (const std::exception &) {
    return false; // whoever destroys this, or the failed rank, says why
  }
}

size_t DeviceCommunicator::findGroup(int channel, geometry::Members members) {
  auto found =
      std::find_if(groups.begin(), groups.end(), [&](const Group &each) {
        return each.members.ranks == members.ranks;
      });
  if (found == groups.end()) {
    groups.push_back({channel, std::move(members), -1});
    return groups.size() - 1;
  }
  found->channel = std::min(found->channel, channel);
  return size_t(found - groups.begin());
}

int DeviceCommunicator::add(Operation operation) {
  operation.ready = device.makeEvent();
  operation.done = device.makeEvent();
  operations.push_back(std::move(operation));
  return int(operations.size()) - 1;
}

int DeviceCommunicator::define(const CollectivePart &spec) {
  geometry::Members members = mesh.members(spec.group, transport.rank());
  int64_t n = members.size();
  if (!geometry::isAllReduce(spec.kind) && spec.elements % n != 0)
    throw std::invalid_argument(
        "collective '" + spec.name + "' has " + std::to_string(spec.elements) +
        " elements, which " + std::to_string(n) + " ranks do not divide");
  Operation operation;
  operation.name = spec.name;
  operation.kind = spec.kind;
  operation.type = spec.type;
  operation.elements = spec.elements;
  operation.data = DevicePointer(spec.data);
  int64_t bytes = int64_t(comm::sizeOf(spec.type));
  operation.chunkBytes = spec.elements / n * bytes;
  operation.bytesSent =
      geometry::elementsSent(spec.kind, spec.elements, n, members.position) *
      bytes;
  operation.group = findGroup(spec.channel, std::move(members));
  return add(std::move(operation));
}

int DeviceCommunicator::define(const TransferEnd &spec) {
  Operation operation;
  operation.name = spec.name;
  operation.isTransfer = true;
  operation.sends = spec.sends;
  operation.peer = spec.peer;
  operation.elements = int64_t(spec.bytes);
  operation.data = DevicePointer(spec.data);
  operation.bytesSent = spec.sends ? int64_t(spec.bytes) : 0;
  return add(std::move(operation));
}

/// The first rank of a group makes its id. All ranks join their groups in the
/// order of channels: a rank waits only for ranks that are no further in this
/// order than itself.
void DeviceCommunicator::join(Group &group) {
  const geometry::Members &members = group.members;
  if (members.size() == 1)
    return;
  train::Messages messages(transport, channel);
  device::CommunicatorId id{};
  if (members.position == 0) {
    id = communication.makeId();
    for (int i = 1; i < members.size(); ++i)
      messages.send(id.data(), int64_t(id.size()), members.ranks[size_t(i)]);
  } else {
    messages.receive(id.data(), int64_t(id.size()), members.ranks[0]);
  }
  group.communicator = communication.join(id, members.size(), members.position);
}

void DeviceCommunicator::open(int) {
  transport.reserve(2);
  communication.requireMemory(
      std::count_if(groups.begin(), groups.end(),
                    [](const Group &each) { return each.members.size() > 1; }));
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return groups[a].channel < groups[b].channel;
  });
  for (size_t index : order)
    join(groups[index]);
}

void DeviceCommunicator::begin(int number, DevicePointer in,
                               DevicePointer out) {
  Operation &operation = operations[size_t(number)];
  if (operation.isStarted)
    throw std::logic_error("operation '" + operation.name +
                           "' is started again before it was waited for");
  if (observer)
    observer->began(number);
  operation.isStarted = true;
  operation.sequence = ++starts;
  started += operation.bytesSent;
  device.record(operation.ready, compute);
  device.wait(stream, operation.ready);
  int communicator = groups[operation.group].communicator;
  if (operation.isTransfer && operation.sends)
    communication.send(stream, communicator, operation.peer, in,
                       operation.elements);
  else if (operation.isTransfer)
    communication.receive(stream, communicator, operation.peer, out,
                          operation.elements);
  else if (communicator >= 0)
    communication.collective(stream, communicator, operation.kind,
                             operation.type, in, out, operation.elements);
  device.record(operation.done, stream);
}

std::optional<int64_t> DeviceCommunicator::start(int number) {
  const Operation &operation = operations[size_t(number)];
  int64_t at = operation.chunkBytes * groups[operation.group].members.position;
  bool gathers = operation.kind == Collective::AllGather,
       scatters = operation.kind == Collective::ReduceScatter;
  begin(number, operation.data + (gathers ? at : 0),
        operation.data + (scatters ? at : 0));
  return std::nullopt;
}

Copied DeviceCommunicator::wait(int number) {
  Operation &operation = operations[size_t(number)];
  if (!operation.isStarted)
    throw std::logic_error("operation '" + operation.name +
                           "' is waited for and was not started");
  operation.isStarted = false;
  device.wait(compute, operation.done);
  if (observer) {
    synchronize(/*isGraph=*/false);
    observer->ended(number);
  }
  return {};
}

void DeviceCommunicator::waitForAll() {
  for (size_t number = 0; number < operations.size(); ++number)
    if (operations[number].isStarted)
      wait(int(number));
}

void DeviceCommunicator::forgetStarts(int64_t bytes) {
  started -= bytes;
  for (Operation &each : operations) {
    each.isStarted = false;
    each.sequence = 0;
  }
}

/// Returns the operation that waits for other ranks: the first whose data are
/// ready and that is not complete; -1 if there is none.
int DeviceCommunicator::findBlocking() {
  int first = -1;
  for (size_t number = 0; number < operations.size(); ++number) {
    Operation &each = operations[number];
    bool isEarlier =
        each.sequence > 0 &&
        (first < 0 || each.sequence < operations[size_t(first)].sequence);
    if (isEarlier && device.isComplete(each.ready) &&
        !device.isComplete(each.done))
      first = int(number);
  }
  return first;
}

void DeviceCommunicator::synchronize(bool isGraph) {
  using namespace std::chrono;
  // A step takes milliseconds, and a look at all operations microseconds.
  constexpr microseconds interval(5000);
  device.record(end, compute);
  transport.activity().enterAction(-1); // the device is anywhere in the list
  std::optional<comm::Activity::Wait> wait;
  auto say = [&](int operation, int peer) {
    wait.emplace(transport.activity());
    wait->on(comm::Activity::WaitsIn::Operation, operation, peer);
  };
  int blocking = -1;
  if (isGraph)
    say(-1, comm::Activity::anyRank);
  steady_clock::time_point next = steady_clock::now() + interval;
  while (!device.isComplete(end)) {
    transport.throwIfFailed();
    if (steady_clock::now() < next) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    next = steady_clock::now() + interval;
    communication.throwIfFailed();
    int found = isGraph ? blocking : findBlocking();
    if (found == blocking)
      continue;
    wait.reset();
    blocking = found;
    if (blocking >= 0)
      say(blocking, operations[size_t(blocking)].peer);
  }
  device.synchronize(compute);
  for (Operation &each : operations)
    if (!each.isStarted)
      each.sequence = 0;
}

} // namespace

std::unique_ptr<Communicator>
makeDeviceCommunicator(const CommunicatorSettings &settings) {
  device::Communication *communication = settings.device.communication();
  if (!communication)
    throw Error("this program's device leaves communication to the host: use "
                "--collectives=ring");
  return std::make_unique<DeviceCommunicator>(settings, *communication);
}

} // namespace ppopt::runtime
