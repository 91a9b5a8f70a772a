//===- program_actions.cpp - Reading lists of actions ---------------------===//

#include "program/program_actions.h"

#include "ppopt/runtime.h"
#include "program/program_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ppopt::runtime {

int64_t readOffset(const Field &field, const Place &place, int64_t bytes,
                   int64_t alignment) {
  int64_t offset = field.integer();
  if (offset % alignment != 0)
    field.fail(fmt::format("is {}, not a multiple of {}", offset, alignment));
  if (bytes > place.arenaBytes || offset > place.arenaBytes - bytes)
    field.fail(fmt::format("is {}: {} bytes there end outside the arena of {}",
                           offset, bytes, place.arenaBytes));
  return offset;
}

//===----------------------------------------------------------------------===//
// Sums over ranks
//===----------------------------------------------------------------------===//

/// Returns the number of ranks that a sum is over.
int64_t ActionReader::groupSize(const Action &action) const {
  return program.plan.mesh.size(action.group());
}

void ActionReader::readGroup(const Field &field, Action &action) const {
  field["axes"].forEach([&](const Field &axis) {
    std::string name = axis.text();
    if (!program.plan.mesh.has(name))
      axis.fail("is '" + name + "', which the mesh does not have");
    if (std::count(action.axes.begin(), action.axes.end(), name))
      axis.fail("is '" + name + "' a second time");
    action.axes.push_back(name);
  });
  if (!field.has("among"))
    return;
  Field among = field["among"];
  if (!std::count(action.axes.begin(), action.axes.end(), "pp"))
    among.fail("is there, and pp is not one of the axes");
  among.forEach([&](const Field &member) {
    int64_t place = member.integer(0, program.plan.axisSize("pp") - 1);
    if (!action.among.empty() && place <= action.among.back())
      member.fail(fmt::format("is {}, not in ascending order", place));
    action.among.push_back(place);
  });
  if (!std::count(action.among.begin(), action.among.end(), action.place))
    among.fail(fmt::format("lacks {}, the place itself", action.place));
}

void ActionReader::readElements(const Field &field, Action &action) const {
  action.type = readType(field["type"]);
  if (action.type == ElementType::i1)
    field["type"].fail("is i1, which cannot be summed");
  action.elements = field["elements"].integer(1, int64_t{1} << 56);
}

void ActionReader::readAllReduce(const Field &field, Action &action) const {
  readGroup(field, action);
  readElements(field, action);
  int64_t size = byteSize(action.type);
  action.offset = readOffset(field["offset"], placeOf(action),
                             action.elements * size, size);
  if (groupSize(action) > 1 || field.has("scratch")) {
    Field scratch = field["scratch"];
    action.scratchBytes = scratch["bytes"].integer();
    action.scratch = readOffset(scratch["offset"], placeOf(action),
                                action.scratchBytes, size);
  }
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void ActionReader::readTransferEnd(const Field &field, Action &action) const {
  bool sends = action.op == Action::send;
  action.transfer =
      field["transfer"].integer(0, int64_t(program.transfers.size()) - 1);
  const Transfer &transfer = program.transfers[action.transfer];
  int64_t here = sends ? transfer.from : transfer.to;
  int64_t there = sends ? transfer.to : transfer.from;
  if (here != action.place)
    field["transfer"].fail(fmt::format("is {} ('{}'), which place {} {}",
                                       action.transfer, transfer.name, here,
                                       sends ? "sends" : "receives"));
  action.microbatch =
      field["microbatch"].integer(0, program.plan.microbatches - 1);
  action.peer = field["peer"].integer(0, program.plan.axisSize("pp") - 1);
  if (action.peer != there)
    field["peer"].fail(fmt::format("is {}, and the other end of '{}' is {}",
                                   action.peer, transfer.name, there));
  action.bytes = field["bytes"].integer();
  if (action.bytes != transfer.bytes)
    field["bytes"].fail(fmt::format("is {}, and '{}' has {}", action.bytes,
                                    transfer.name, transfer.bytes));
  action.offset = readOffset(field["offset"], placeOf(action), action.bytes,
                             PPOPT_ALIGNMENT);
}

void ActionReader::readStart(const Field &field, Action &action) const {
  action.id = field["id"].integer();
  action.channel = field["channel"].integer(0, INT32_MAX);
  std::string op = field["op"].text();
  if (op == "all_reduce") {
    action.op = Action::allReduce;
    return readAllReduce(field, action);
  }
  if (op == "send")
    action.op = Action::send;
  else if (op == "recv")
    action.op = Action::recv;
  else
    field["op"].fail("is '" + op + "', not one of all_reduce, send, recv");
  readTransferEnd(field, action);
}

//===----------------------------------------------------------------------===//
// Between the places of one rank
//===----------------------------------------------------------------------===//

Address ActionReader::readAddress(const Field &field, int64_t bytes,
                                  int64_t alignment) const {
  int64_t place = field["place"].integer(0, int64_t(program.places.size()) - 1);
  return {place,
          readOffset(field["offset"], program.places[place], bytes, alignment)};
}

void ActionReader::readCopy(const Field &field, Action &action) const {
  action.transfer =
      field["transfer"].integer(0, int64_t(program.transfers.size()) - 1);
  const Transfer &transfer = program.transfers[action.transfer];
  action.microbatch =
      field["microbatch"].integer(0, program.plan.microbatches - 1);
  action.bytes = field["bytes"].integer();
  if (action.bytes != transfer.bytes)
    field["bytes"].fail(fmt::format("is {}, and '{}' has {}", action.bytes,
                                    transfer.name, transfer.bytes));
  for (const char *end : {"from", "to"})
    action.at.push_back(readAddress(field[end], action.bytes, PPOPT_ALIGNMENT));
  if (action.at[0].place != transfer.from || action.at[1].place != transfer.to)
    field.fail(fmt::format("goes from place {} to {}, and '{}' from {} to {}",
                           action.at[0].place, action.at[1].place,
                           transfer.name, transfer.from, transfer.to));
}

void ActionReader::readSum(const Field &field, Action &action) const {
  readElements(field, action);
  int64_t size = byteSize(action.type);
  field["at"].forEach([&](const Field &buffer) {
    action.at.push_back(readAddress(buffer, action.elements * size, size));
  });
  if (action.at.empty())
    field["at"].fail("is empty");
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void ActionReader::readRun(const Field &field, Action &action) const {
  action.task = field["task"].integer(0, int64_t(program.tasks.size()) - 1);
  const Task &task = program.tasks[action.task];
  if (task.place != action.place)
    field["task"].fail(fmt::format("is {} ('{}'), which belongs to place {}",
                                   action.task, task.name, task.place));
  action.microbatch =
      field["microbatch"].integer(0, program.plan.microbatches - 1);
  const Place &place = placeOf(action);
  action.arguments = field["args"].integers(0, place.arenaBytes);
  action.temporaries = readOffset(field["temps"], place, 0, PPOPT_ALIGNMENT);
}

void ActionReader::readDead(const Field &field, Action &action) const {
  field.forEach([&](const Field &range) {
    std::vector<int64_t> read = range.integers(0);
    if (read.size() != 2)
      range.fail("is not [offset, bytes]");
    int64_t arena = placeOf(action).arenaBytes;
    if (read[1] > arena || read[0] > arena - read[1])
      range.fail(fmt::format("ends outside the arena of {}", arena));
    action.dead.push_back({read[0], read[1]});
  });
}

Action ActionReader::readAction(const Field &field) const {
  Action action;
  action.place =
      own ? own->place
          : field["place"].integer(0, int64_t(program.places.size()) - 1);
  const Place &place = placeOf(action);
  std::string kind = field["do"].text();
  if (kind == "run") {
    action.kind = Action::run;
    readRun(field, action);
  } else if (kind == "zero") {
    action.kind = Action::zero;
    action.bytes = field["bytes"].integer();
    action.offset = readOffset(field["offset"], place, action.bytes, 1);
  } else if (kind == "start" && own) {
    action.kind = Action::start;
    readStart(field, action);
  } else if (kind == "wait" && own) {
    action.kind = Action::wait;
    action.id = field["id"].integer();
  } else if (kind == "copy" && !own) {
    action.kind = Action::copy;
    readCopy(field, action);
  } else if (kind == "sum" && !own) {
    action.kind = Action::sum;
    readSum(field, action);
  } else if (kind == "check_counts") {
    action.kind = Action::checkCounts;
  } else if (kind == "norm") {
    action.kind = Action::norm;
    int64_t size = byteSize(ElementType::f64);
    action.offset = readOffset(field["offset"], place, size, size);
  } else {
    field["do"].fail(fmt::format("is '{}', not one of run, zero, {}, "
                                 "check_counts, norm",
                                 kind, own ? "start, wait" : "copy, sum"));
  }
  if (field.has("dead"))
    readDead(field["dead"], action);
  return action;
}

std::vector<Action> ActionReader::read(const Field &list) {
  std::vector<Action> actions;
  std::map<int64_t, Action> inFlight; // by id
  std::set<int64_t> seen;
  list.forEach([&](const Field &element) {
    Action action = readAction(element);
    if (action.kind == Action::start) {
      if (!seen.insert(action.id).second)
        element["id"].fail(fmt::format("is {} a second time", action.id));
      action.operation = operations++;
      inFlight[action.id] = action;
    } else if (action.kind == Action::wait) {
      auto started = inFlight.find(action.id);
      if (started == inFlight.end())
        element["id"].fail(
            fmt::format("is {}, which is not in flight", action.id));
      action.operation = started->second.operation;
      action.op = started->second.op;
      inFlight.erase(started);
    } else if (action.kind == Action::checkCounts) {
      // The other end may leave the step without having started the transfer.
      for (const auto &[id, started] : inFlight)
        if (started.op != Action::allReduce)
          element.fail(fmt::format("may end the step while the transfer {} is "
                                   "in flight",
                                   id));
    }
    actions.push_back(std::move(action));
  });
  if (!inFlight.empty())
    list.fail(fmt::format("starts {} and never waits for it",
                          inFlight.begin()->first));
  return actions;
}

//===----------------------------------------------------------------------===//
// Both ends
//===----------------------------------------------------------------------===//

namespace {

/// (from, to, channel) -> the messages in the order of their starts.
using Messages = std::map<std::tuple<int64_t, int64_t, int64_t>,
                          std::vector<const Action *>>;

void collect(const Place &place, const std::vector<Action> &actions,
             Messages &sent, Messages &received) {
  for (const Action &action : actions) {
    if (action.kind != Action::start || action.op == Action::allReduce)
      continue;
    if (action.op == Action::send)
      sent[{place.place, action.peer, action.channel}].push_back(&action);
    else
      received[{action.peer, place.place, action.channel}].push_back(&action);
  }
}

std::string describeMessage(const Program &program,
                            const std::vector<const Action *> &messages,
                            size_t number) {
  if (number >= messages.size())
    return "nothing";
  const Action &action = *messages[number];
  return fmt::format("{} of microbatch {}",
                     program.transfers[action.transfer].name,
                     action.microbatch);
}

void checkMatch(const Program &program, const char *list, Messages &sent,
                Messages &received) {
  for (const auto &[queue, messages] : sent)
    received[queue]; // also queues from which nothing is received
  for (const auto &[queue, receives] : received) {
    const std::vector<const Action *> &sends = sent[queue];
    for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      std::string left = describeMessage(program, sends, i);
      std::string right = describeMessage(program, receives, i);
      if (left != right)
        throw Error(
            "program: {}: message {} from place {} to place {} on channel "
            "{} is {} where it is sent and {} where it is received; "
            "the executable does not fit its runtime: compile it again",
            list, i, std::get<0>(queue), std::get<1>(queue), std::get<2>(queue),
            left, right);
    }
  }
}

} // namespace

void checkTransfersMatch(const Program &program) {
  Messages sent, received, evalSent, evalReceived;
  for (const Place &place : program.places) {
    collect(place, place.actions, sent, received);
    collect(place, place.evalActions, evalSent, evalReceived);
  }
  checkMatch(program, "actions", sent, received);
  checkMatch(program, "eval_actions", evalSent, evalReceived);
}

} // namespace ppopt::runtime
