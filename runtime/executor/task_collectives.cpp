//===- task_collectives.cpp - Collectives that tasks start and wait for ---===//

#include "executor/task_collectives.h"

#include "base/error.h"
#include "executor/executor.h"
#include "executor/rank.h"
#include "executor/step_trace.h"

#include <algorithm>

namespace ppopt::runtime {

using device::DevicePointer;
using geometry::Collective;

/// Allocates host memory for the largest k-th collective of the tasks.
void TaskCollectives::allocate() {
  std::vector<int64_t> wholeBytes, scratchBytes;
  auto grow = [](std::vector<int64_t> &list, size_t index, int64_t bytes) {
    list.resize(std::max(list.size(), index + 1));
    list[index] = std::max(list[index], bytes);
  };
  geometry::Mesh mesh = rank.program.plan.getMesh();
  for (const Range &range : ofTask)
    for (size_t i = range.begin; i < range.end; ++i) {
      const TaskCollective &collective = rank.program.collectives[i];
      grow(wholeBytes, i - range.begin, collective.bytes());
      grow(scratchBytes, i - range.begin,
           geometry::scratchElements(collective.op, collective.elements,
                                     mesh.size(collective.group())) *
               byteSize(collective.type));
    }
  for (int64_t bytes : wholeBytes)
    wholes.push_back(rank.device->allocateHost(bytes));
  for (int64_t bytes : scratchBytes)
    scratches.push_back(rank.device->allocateHost(bytes));
}

void TaskCollectives::define(size_t number) {
  const TaskCollective &collective = rank.program.collectives[number];
  geometry::Mesh mesh = rank.program.plan.getMesh();
  geometry::Group group = collective.group();
  int64_t n = mesh.size(group),
          position = mesh.position(group, rank.index).value_or(0);
  Entry &entry = entries[number];
  entry.operation = int(collective.operation);
  int64_t size = byteSize(collective.type);
  entry.chunkAt = geometry::chunkBegin(collective.elements, n, position) * size;
  entry.chunkBytes =
      geometry::chunkSize(collective.elements, n, position) * size;
  if (!wholes.empty()) {
    size_t index = number - ofTask[collective.task].begin;
    entry.whole = wholes[index];
    entry.scratch = scratches[index];
  }
  if (!rank.deviceChannels)
    rank.staging.add();
  if (!rank.channels && !rank.deviceChannels)
    return;
  comm::CollectiveSpec spec;
  spec.name = collective.name;
  spec.group = std::move(group);
  spec.channel = int(collective.channel);
  spec.kind = collective.op;
  spec.elements = collective.elements;
  spec.type = *comm::parseElementType(spell(collective.type));
  int operation = rank.deviceChannels ? rank.deviceChannels->define(spec)
                                      : rank.channels->define(spec);
  if (operation != entry.operation)
    throw Error("program: the collective '{}' of {} is not operation {}",
                collective.name, rank.program.tasks[collective.task].name,
                entry.operation);
}

void TaskCollectives::define() {
  const Program &program = rank.program;
  entries.resize(program.collectives.size());
  ofTask.resize(program.tasks.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    Range &range = ofTask[program.collectives[i].task];
    if (range.end == 0)
      range.begin = i;
    range.end = i + 1;
  }
  if (!rank.deviceChannels &&
      !rank.device->hostView(rank.memoryOf(rank.place.place).arena))
    allocate();
  for (size_t i = 0; i < entries.size(); ++i)
    if (program.tasks[program.collectives[i].task].place == rank.place.place)
      define(i);
}

void TaskCollectives::beginTask(const Action &newRun) {
  run = &newRun;
  next = ofTask[run->task].begin;
  inFlight = 0;
}

const std::string &TaskCollectives::taskName() const {
  return rank.program.tasks[run->task].name;
}

void TaskCollectives::endTask() const {
  const Range &range = ofTask[run->task];
  auto fail = [&](size_t number, const char *has) {
    throw Error(
        "program: task {} ended and has not {} its collective {} ('{}')",
        taskName(), has, number, rank.program.collectives[number].name);
  };
  if (next != range.end)
    fail(next, "started");
  for (size_t i = range.begin; inFlight > 0 && i < range.end; ++i)
    if (entries[i].isInFlight)
      fail(i, "waited for");
}

void TaskCollectives::checkNext(int64_t number) const {
  if (next == ofTask[run->task].end)
    throw Error("program: task {} starts collective {}, and has no more",
                taskName(), number);
  if (number != int64_t(next))
    throw Error("program: task {} starts collective {}, and its next one is {}",
                taskName(), number, next);
}

/// Starts a collective of the transport, which works on a whole in host memory.
void TaskCollectives::startOnHost(const TaskCollective &collective,
                                  const Entry &entry, DevicePointer in,
                                  DevicePointer out, DevicePointer scratch) {
  bool gathers = collective.op == Collective::AllGather,
       scatters = collective.op == Collective::ReduceScatter;
  auto hostOf = [&](char *host, DevicePointer memory) {
    return host || !memory ? host : rank.device->hostView(memory);
  };
  char *whole = hostOf(entry.whole, scatters ? in : out);
  int64_t bytes = collective.bytes();
  Staging::Part sent{in, whole, bytes}, received{out, whole, bytes};
  if (gathers)
    sent = {in, whole + entry.chunkAt, entry.chunkBytes};
  if (scatters)
    received = {out, whole + entry.chunkAt, entry.chunkBytes};
  copy([&] { return rank.staging.start(entry.operation, sent, received); });
  if (rank.channels) {
    if (trace)
      trace->begin(*run, collective);
    rank.channels->start(entry.operation, whole,
                         hostOf(entry.scratch, scatters ? out : scratch));
  }
}

void TaskCollectives::start(int64_t number, DevicePointer in, DevicePointer out,
                            DevicePointer scratch) {
  checkNext(number);
  Clock::time_point begin;
  if (rank.launchTrace)
    begin = Clock::now();
  const TaskCollective &collective = rank.program.collectives[number];
  Entry &entry = entries[number];
  if (observer) {
    int64_t bytes = collective.op == Collective::AllGather ? entry.chunkBytes
                                                           : collective.bytes();
    observer->collectiveStarts(*run, collective, in,
                               bytes / byteSize(collective.type));
  }
  entry.result = out;
  if (rank.deviceChannels) {
    if (trace)
      trace->begin(*run, collective);
    rank.deviceChannels->start(entry.operation, in, out);
  } else {
    startOnHost(collective, entry, in, out, scratch);
  }
  entry.isInFlight = true;
  ++next;
  ++inFlight;
  if (rank.launchTrace)
    rank.launchTrace->recordCall(TracedCall::start, number, begin,
                                 Clock::now());
}

/// Copies chunks, and measures it if somebody asks. `work` returns the bytes.
template <typename Work> void TaskCollectives::copy(const Work &work) {
  if (!rank.profile) {
    work();
    return;
  }
  Clock::time_point begin = Clock::now();
  if (int64_t bytes = work())
    rank.profile->recordChunk(bytes, Clock::now() - begin);
}

/// Blocks until the collective is done, and records how long it took.
void TaskCollectives::block(const TaskCollective &collective, int operation) {
  if (board)
    board->enter(Phase::allReduce);
  Clock::time_point begin = Clock::now();
  if (rank.deviceChannels)
    rank.deviceChannels->wait(operation);
  else if (rank.channels)
    rank.channels->wait(operation);
  Clock::time_point end = Clock::now();
  waitedTime += end - begin;
  if (trace)
    trace->recordWait(*run, collective, begin, end);
  if (rank.profile)
    rank.profile->recordWait(collective, end - begin);
  if (board)
    board->enter(rank.program, *run);
}

void TaskCollectives::wait(int64_t number) {
  const Range &range = ofTask[run->task];
  if (number < int64_t(range.begin) || number >= int64_t(range.end) ||
      !entries[number].isInFlight)
    throw Error("program: task {} waits for collective {}, which it has not in "
                "flight",
                taskName(), number);
  Entry &entry = entries[number];
  const TaskCollective &collective = rank.program.collectives[number];
  block(collective, entry.operation);
  if (!rank.deviceChannels)
    copy([&] { return rank.staging.finish(entry.operation); });
  if (observer)
    observer->collectiveEnded(*run, collective, entry.result,
                              collective.op == Collective::ReduceScatter
                                  ? entry.chunkBytes / byteSize(collective.type)
                                  : collective.elements);
  entry.isInFlight = false;
  --inFlight;
}

} // namespace ppopt::runtime

using namespace ppopt;
using namespace ppopt::runtime;

namespace {

/// Exceptions must not pass through compiled code.
template <typename Call> void guard(ppopt_rank &rank, const Call &call) {
  if (rank.failure || rank.dryRun)
    return;
  try {
    call();
  } catch (...) {
    rank.failure = std::current_exception();
  }
}

} // namespace

void ppopt_start(ppopt_rank *rank, int32_t collective, const void *in,
                 void *out, void *scratch) {
  using device::DevicePointer;
  guard(*rank, [&] {
    rank->collectives.start(collective, DevicePointer(in), DevicePointer(out),
                            DevicePointer(scratch));
  });
}

void ppopt_wait(ppopt_rank *rank, int32_t collective) {
  guard(*rank, [&] { rank->collectives.wait(collective); });
}

void ppopt_release(ppopt_rank *rank, void *buffer, int64_t bytes) {
  if (!rank->poison)
    return;
  guard(*rank, [&] {
    rank->device->fill(rank->compute, device::DevicePointer(buffer), 0xFF,
                       bytes);
  });
}
