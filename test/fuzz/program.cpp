//===- program.cpp - Fuzzes the program document --------------------------===//
//
// The input is the JSON that an executable carries; it comes with the right
// checksum. What is accepted is described, as by --describe, and a rank of it
// runs: with tasks that do nothing but their collectives, and with a
// communicator that writes to all memory that it is given. What lies beyond an
// arena must not be accessed.
//
//===----------------------------------------------------------------------===//

#include "program/program.h"
#include "mutate_json.h"
#include "quiet_ranks.h"

#include "base/checksum.h"
#include "base/error.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "executor/non_finite_step.h"
#include "executor/owned_buckets.h"
#include "observe/describe.h"
#include "observe/replica_check.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

using namespace ppopt;
using runtime::Program;

namespace {

/// Larger programs would run for long, and reach nothing else.
bool isSmall(const Program &program) {
  constexpr int64_t most = 1 << 20;
  int64_t bytes = 0;
  for (const runtime::Place &place : program.places)
    bytes = std::min(most, place.arenaBytes) + bytes;
  for (const runtime::TaskCollective &collective : program.collectives)
    if (collective.elements > most / 8)
      return false;
  return bytes < most && program.plan.ranks() <= 64 &&
         program.plan.microbatches <= 64;
}

const Program *running = nullptr;

/// Starts and waits for the collectives of a task.
void collect(ppopt_rank *rank, size_t task) {
  for (size_t i = 0; i < running->collectives.size(); ++i) {
    const runtime::TaskCollective &collective = running->collectives[i];
    if (collective.task != int64_t(task))
      continue;
    std::vector<char> in(collective.bytes()), out(in), scratch(in);
    ppopt_start(rank, int32_t(i), in.data(), out.data(), scratch.data());
    ppopt_wait(rank, int32_t(i));
  }
}

constexpr size_t mostTasks = 64;

template <size_t... Numbers>
std::array<ppopt_task_fn, mostTasks>
makeTasks(std::index_sequence<Numbers...>) {
  return {[](ppopt_rank *rank, void *const *, char *) {
    collect(rank, Numbers);
  }...};
}

/// Runs a part of what a rank does; that it fails is no finding.
template <typename Part> void attempt(const Part &part) {
  try {
    part();
  } catch (const std::exception &) {
  }
}

void runRank(const Program &program, int index) {
  static const auto tasks = makeTasks(std::make_index_sequence<mostTasks>());
  fuzz::QuietTransport transport(index, int(program.plan.ranks()));
  runtime::RankOptions options;
  if (!program.local)
    options.communicator = fuzz::makeQuietCommunicator;
  ppopt_rank rank(program, tasks.data(),
                  transport.size() > 1 ? &transport : nullptr, options);
  runtime::initializeParameters(rank, /*seed=*/1);
  for (const runtime::Buffer &input : rank.places.inputs)
    std::memset(input.data.opaque(), 0,
                program.inputs[input.index].bytesOf(program.plan));
  runtime::ExecutorOptions poison;
  poison.poison = true;
  for (int step = 0; step < 2; ++step)
    attempt([&] { runtime::runStep(rank, {}, poison); });
  attempt([&] { runtime::finishSteps(rank); });
  attempt([&] { runtime::runEvaluation(rank, {}, poison); });
  attempt([&] { runtime::findBadIds(rank); });
  attempt([&] { train::ReplicaCheck check(rank); });
  if (!rank.places.own.owned)
    return;
  const runtime::StepSettings settings;
  runtime::OwnedBuckets buckets(rank, settings);
  for (size_t i = 0; i < buckets.buckets().size(); ++i)
    for (int64_t trainer = 0; trainer < schema::trainersOf(program.plan);
         ++trainer) {
      auto [parameters, gradients] = buckets.buckets()[i];
      std::memset(buckets.working(int(i), int(trainer)), 0, parameters);
      std::memset(buckets.gradient(int(i), int(trainer)), 0, gradients);
      std::memset(buckets.master(int(i)), 0, parameters);
      if (trainer != program.plan.coordinate(index, geometry::batchAxis))
        std::memset(buckets.inbox(int(trainer)), 0, gradients);
      attempt([&] {
        buckets.update(int(i), buckets.gradient(int(i), int(trainer)), {});
      });
    }
  attempt([&] { buckets.gather(); });
}

void inspect(const Program &program) {
  train::describeProgram(program, {}, {"./train"});
  program.unusedChannel();
  program.largestArena();
  for (const runtime::Parameter &parameter : program.parameters) {
    geometry::Tile tile =
        schema::tileOf(parameter, program.plan, program.plan.ranks() - 1);
    if (tile.globalIndex(tile.elements() - 1) >= parameter.globalElements())
      std::abort();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    std::string_view json(reinterpret_cast<const char *>(data), size);
    Program program = runtime::readProgram(
        runtime::StoredDocument{json, train::checksumOf(json)});
    inspect(program);
    if (!isSmall(program) || program.tasks.size() > mostTasks)
      return 0;
    program.kernels.clear(); // the tasks launch none
    program.matmuls.clear();
    running = &program;
    int last = int(program.plan.ranks()) - 1;
    attempt([&] { runRank(program, 0); });
    if (last > 0)
      attempt([&] { runRank(program, last); });
  } catch (const runtime::Error &) {
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateJsonText(data, size, most, seed,
                              [](const nlohmann::json &document) {
                                return fuzz::printJson(document, -1);
                              });
}
