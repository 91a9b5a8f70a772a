//===- check_collectives.cpp - Whether collectives of tasks are right -----===//

#include "check/check_program.h"

#include "geometry/axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ppopt::runtime {

using namespace schema;

namespace {

/// The ranks of a group, apart from where it is: axes of more than one rank,
/// and places.
using GroupKey = std::pair<std::set<std::string>, std::vector<int64_t>>;

GroupKey keyOf(const geometry::Mesh &mesh, const geometry::Group &group,
               int64_t place) {
  GroupKey key;
  for (const std::string &axis : group.axes)
    if (axis != geometry::placeAxis && mesh.size(axis) > 1)
      key.first.insert(axis);
  key.second = mesh.placesOf(group, place);
  return key;
}

/// Checks the collectives of tasks, one after the other.
class CollectiveChecker {
public:
  explicit CollectiveChecker(const Program &program);

  void check(size_t number, const Path &path);

private:
  void checkWhole(const TaskCollective &collective, const Path &path) const;
  void checkChannel(const TaskCollective &collective, int64_t place,
                    const Path &path);

  /// What a place's actions and tasks use a channel for.
  struct Use {
    GroupKey group; ///< not of transfers
    bool isOfTransfers;
  };
  const Program &program;
  const geometry::Mesh mesh;
  std::map<std::pair<int64_t, int64_t>, Use> uses; ///< by place and channel
  std::set<int64_t> tasks; ///< whose collectives have begun
};

/// Numbers the operations of each place, from the number of those of its
/// actions on.
void numberOperations(Program &program) {
  std::vector<int64_t> next(program.places.size(), 0);
  for (const Place &place : program.places)
    for (const auto *list : {&place.actions, &place.evalActions})
      next[place.place] +=
          std::count_if(list->begin(), list->end(), [](const Action &action) {
            return action.kind == ActionKind::start;
          });
  for (TaskCollective &collective : program.collectives)
    collective.operation = next[program.tasks[collective.task].place]++;
}

CollectiveChecker::CollectiveChecker(const Program &program)
    : program(program), mesh(program.plan.getMesh()) {
  for (const Place &place : program.places)
    for (const auto *list : {&place.actions, &place.evalActions})
      for (const Action &action : *list)
        if (action.startsTransfer())
          uses.insert({{place.place, action.channel}, {{}, true}});
        else if (action.startsCollective())
          uses.insert({{place.place, action.channel},
                       {keyOf(mesh, action.group(), place.place), false}});
}

/// Checks that every rank has the same part of the buffer.
void CollectiveChecker::checkWhole(const TaskCollective &collective,
                                   const Path &path) const {
  int64_t ranks = mesh.size(collective.group());
  if (collective.op != geometry::Collective::AllReduce &&
      collective.elements % ranks != 0)
    path.fail(fmt::format("is {}, which its {} ranks do not divide",
                          collective.elements, ranks));
}

void CollectiveChecker::checkChannel(const TaskCollective &collective,
                                     int64_t place, const Path &path) {
  Use wanted{keyOf(mesh, collective.group(), place), false};
  const Use &use =
      uses.insert({{place, collective.channel}, wanted}).first->second;
  if (use.isOfTransfers)
    path.fail(fmt::format("is {}, which has transfers", collective.channel));
  if (use.group != wanted.group)
    path.fail(
        fmt::format("is {}, which belongs to another group of ranks of place "
                    "{}",
                    collective.channel, place));
}

void CollectiveChecker::check(size_t number, const Path &path) {
  const TaskCollective &collective = program.collectives[number];
  checkIndex(collective.task, program.tasks.size(), path["task"]);
  const Task &task = program.tasks[collective.task];
  bool isFirst = tasks.insert(collective.task).second;
  if (!isFirst && program.collectives[number - 1].task != collective.task)
    path["task"].fail(fmt::format("is {} ('{}'), whose collectives end before",
                                  collective.task, task.name));
  if (collective.op == geometry::Collective::Broadcast)
    path["op"].fail("is broadcast, which tasks do not have");
  if (collective.type == ElementType::i1)
    path["type"].fail("is i1, which cannot be summed");
  checkGroup(program, collective.group(), task.place, path);
  if (mesh.placesOf(collective.group(), task.place).size() > 1)
    path["axes"].fail("is a group with ranks of several places, and each place "
                      "runs tasks of its own");
  checkWhole(collective, path["elements"]);
  checkChannel(collective, task.place, path["channel"]);
}

} // namespace

void checkTaskCollectives(Program &program, const Path &path) {
  if (program.plan.launch == Launch::local && !program.collectives.empty())
    path.fail("is not empty, and the plan's launch is local: its one thread "
              "would wait in a task for what no other starts");
  CollectiveChecker checker(program);
  for (size_t i = 0; i < program.collectives.size(); ++i)
    checker.check(i, path[i]);
  numberOperations(program);
}

} // namespace ppopt::runtime
