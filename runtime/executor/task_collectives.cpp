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

static void recordCopy(ppopt_rank &rank, const Copied &copied) {
  if (rank.recording.profile && copied.bytes > 0)
    rank.recording.profile->recordChunk(copied.bytes, copied.time);
}

void TaskCollectives::define(size_t number) {
  const TaskCollective &collective = rank.program.collectives[number];
  CollectivePart part;
  part.name = collective.name;
  part.rank = rank.index;
  part.group = collective.group();
  part.channel = int(collective.channel);
  part.kind = collective.op;
  part.elements = collective.elements;
  part.type = *comm::parseElementType(spell(collective.type));
  // Only one task runs.
  part.slot = int(number - ofTask[collective.task].begin);
  geometry::Mesh mesh = rank.program.plan.getMesh();
  Entry &entry = entries[number];
  entry.operation = int(collective.operation);
  entry.chunkBytes =
      geometry::chunkSize(collective.elements, mesh.size(part.group),
                          mesh.position(part.group, rank.index).value_or(0)) *
      byteSize(collective.type);
  if (rank.communicator->define(part) != entry.operation)
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
  for (size_t i = 0; i < entries.size(); ++i)
    if (program.tasks[program.collectives[i].task].place ==
        rank.places.own.place)
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

void TaskCollectives::start(int64_t number, DevicePointer in, DevicePointer out,
                            DevicePointer scratch) {
  checkNext(number);
  Clock::time_point begin;
  if (rank.recording.launchTrace)
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
  recordCopy(rank, rank.communicator->start(entry.operation, in, out, scratch));
  entry.isInFlight = true;
  ++next;
  ++inFlight;
  if (rank.recording.launchTrace)
    rank.recording.launchTrace->recordCall(TracedCall::start, number, begin,
                                           Clock::now());
}

/// Blocks until the collective is done, and records how long it took.
void TaskCollectives::block(const TaskCollective &collective, int operation) {
  if (board)
    board->enter(Phase::allReduce);
  Clock::time_point begin = Clock::now();
  Copied copied = rank.communicator->wait(operation);
  Clock::time_point end = Clock::now() - copied.time;
  waitedTime += end - begin;
  if (trace)
    trace->recordWait(*run, collective, begin, end);
  if (rank.recording.profile)
    rank.recording.profile->recordWait(collective, end - begin);
  recordCopy(rank, copied);
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
  if (observer)
    observer->collectiveEnded(*run, collective, entry.result,
                              collective.op == Collective::ReduceScatter
                                  ? entry.chunkBytes / byteSize(collective.type)
                                  : collective.elements);
  entry.isInFlight = false;
  --inFlight;
}

} // namespace ppopt::runtime
