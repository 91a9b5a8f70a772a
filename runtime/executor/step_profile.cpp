//===- step_profile.cpp - Where the time of steps goes --------------------===//

#include "executor/step_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ppopt::runtime {

namespace {

std::string nameCollective(geometry::Collective kind,
                           const geometry::Group &group) {
  std::string name =
      fmt::format("{} {}", geometry::nounOf(kind), fmt::join(group.axes, " "));
  return group.among.empty()
             ? name
             : name + fmt::format(" {{{}}}", fmt::join(group.among, ","));
}

/// Waits for all microbatches of a transfer share one line; so do all sums of a
/// group.
std::string nameWait(const Program &program, const Action &start) {
  if (!isTransfer(start.op))
    return nameCollective(start.collective(), start.group());
  return fmt::format("{} {}", start.op == Operation::send ? "send" : "receive",
                     program.transfers[start.transfer].name);
}

bool runsTask(const std::vector<Action> &actions, int64_t task) {
  return std::any_of(actions.begin(), actions.end(), [&](const Action &action) {
    return action.kind == ActionKind::run && action.task == task;
  });
}

template <typename Item, typename Has>
size_t findOrAdd(std::vector<Item> &items, size_t from, const Has &has,
                 const Item &item) {
  auto found = std::find_if(items.begin() + from, items.end(), has);
  if (found == items.end())
    found = items.insert(found, item);
  return found - items.begin();
}

} // namespace

StepProfile::StepProfile(const Program &program,
                         const std::vector<Action> &actions) {
  for (const Kernel &kernel : program.kernels)
    allLines.push_back(
        {ProfileLine::kernel, kernel.name, kernel.flops, kernel.bytes});
  firstMatmul = allLines.size();
  for (const Matmul &matmul : program.matmuls)
    allLines.push_back({ProfileLine::matmul, matmul.name,
                        matmul.descriptor.flops(),
                        /*bytesOfCall=*/0, matmul.descriptor.type});
  firstOther = allLines.size();
  // The order must match the functions that index them.
  allLines.push_back({ProfileLine::other, "communication between launches"});
  allLines.push_back({ProfileLine::other, "samples"});
  allLines.push_back({ProfileLine::memory, "zero"});
  allLines.push_back({ProfileLine::memory, "copies between places"});
  allLines.push_back({ProfileLine::memory, "sums over places"});
  allLines.push_back({ProfileLine::memory, "copies of chunks"});
  for (const Action &action : actions)
    if (action.kind == ActionKind::start && !program.local)
      addWait(action.operation, nameWait(program, action));
  for (const TaskCollective &collective : program.collectives)
    if (runsTask(actions, collective.task))
      addWait(collective.operation,
              nameCollective(collective.op, collective.group()));
  for (const Task &task : program.tasks)
    kindOfTask.push_back(findOrAdd(
        taskKinds, 0,
        [&](const ProfiledTasks &tasks) { return tasks.kind == task.kind; },
        {task.kind}));
}

void StepProfile::addWait(int64_t operation, const std::string &name) {
  waitLines.resize(std::max<size_t>(waitLines.size(), size_t(operation) + 1));
  waitLines[operation] =
      findOrAdd(allLines, firstOther,
                [&](const ProfileLine &line) {
                  return line.kind == ProfileLine::wait && line.name == name;
                },
                {ProfileLine::wait, name});
}

static void addMemory(ProfileLine &line, int64_t bytes,
                      StepProfile::Clock::duration time) {
  line.add(time);
  line.bytes += bytes;
}

void StepProfile::recordMove(const Action &start, int64_t bytes,
                             Clock::duration time) {
  addMemory(isTransfer(start.op) ? copies() : sums(), bytes, time);
}

/// What is copied is read and written.
void StepProfile::recordChunk(int64_t bytes, Clock::duration time) {
  addMemory(chunks(), 2 * bytes, time);
}

void StepProfile::record(const Action &action, Clock::duration time) {
  switch (action.kind) {
  case ActionKind::run: {
    ProfiledTasks &tasks = taskKinds[kindOfTask[action.task]];
    ++tasks.runs;
    tasks.time += time;
    return;
  }
  case ActionKind::wait:
    return allLines[waitLines[action.operation]].add(time);
  case ActionKind::zero:
    return addMemory(zeros(), action.bytes, time);
  default:
    return;
  }
}

std::vector<ProfileLine> StepProfile::lines() const {
  std::vector<ProfileLine> called;
  ProfileLine rest{ProfileLine::other, "everything else"};
  rest.calls = stepCount;
  rest.time = stepTime;
  for (const ProfileLine &line : allLines) {
    if (line.calls == 0)
      continue;
    called.push_back(line);
    rest.time -= line.time;
  }
  std::sort(called.begin(), called.end(),
            [](const ProfileLine &a, const ProfileLine &b) {
              return a.time != b.time ? a.time > b.time : a.name < b.name;
            });
  called.push_back(rest);
  return called;
}

std::vector<ProfiledTasks> StepProfile::tasks() const {
  std::vector<ProfiledTasks> ran;
  for (const ProfiledTasks &tasks : taskKinds)
    if (tasks.runs > 0)
      ran.push_back(tasks);
  return ran;
}

} // namespace ppopt::runtime
