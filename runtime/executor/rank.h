//===- rank.h - One rank of the job ---------------------------------------===//
//
// The handle that tasks pass back through the C ABI (ppopt/runtime.h). Makes
// everything that a step needs once. A rank belongs to the thread that made it:
// a process has one rank, or one per thread.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_RANK_H
#define PPOPT_RUNTIME_EXECUTOR_RANK_H

#include "device/device.h"
#include "device/device_options.h"
#include "executor/background.h"
#include "executor/communicator.h"
#include "executor/held_places.h"
#include "executor/launch_times.h"
#include "executor/phase_board.h"
#include "executor/step_graph.h"
#include "executor/step_results.h"
#include "executor/task_calls.h"
#include "executor/task_collectives.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <memory>
#include <optional>

namespace ppopt::runtime {

/// Where a rank records what it does; null: nowhere. What is named is its
/// owner's, and lives until it is replaced.
struct Recording {
  /// Accumulates times.
  StepProfile *profile = nullptr;
  /// Measures the launches of a profile; else the host does.
  std::optional<LaunchTimes> launchTimes;
  /// Has each launch; the executor sets it.
  StepTrace *launchTrace = nullptr;
  /// Publishes what the rank is doing.
  PhaseBoard *board = nullptr;
};

struct RankOptions {
  int threads = 1; ///< size of the rank's team, including its own thread
  comm::Collectives collectives = comm::Collectives::Ring;
  CommunicatorMaker communicator = makeCommunicator;
  // On GPUs:
  device::GpuChoice choice;
  bool useGraph = true;    ///< repeat steps as graphs
  device::DeviceCode code; ///< of the program's kernels
};

} // namespace ppopt::runtime

struct ppopt_rank {
public:
  /// Makes rank transport->rank() of the program. `tasks` is the executable's
  /// ppopt_tasks. `program` and `transport` must outlive the rank. `transport`
  /// may be null if the plan has one rank. Throws Error if there is no memory,
  /// if the number of ranks differs from the plan's, or if a matmul or
  /// collective cannot be prepared.
  ppopt_rank(const ppopt::runtime::Program &program, const ppopt_task_fn *tasks,
             ppopt::comm::Transport *transport,
             const ppopt::runtime::RankOptions &options);
  ppopt_rank(const ppopt_rank &) = delete;
  ppopt_rank &operator=(const ppopt_rank &) = delete;

  // What the rank is. Constant.
  const ppopt::runtime::Program &program;
  const int index; ///< in [0, program.plan.ranks())
  ppopt::comm::Transport *const transport;
  const ppopt::runtime::RankOptions options;
  const std::unique_ptr<ppopt::device::Device> device;
  const ppopt::device::Stream compute; ///< of tasks
  const ppopt::runtime::HeldPlaces places;

  // What it works with. The order is that of their needs: the communicator is
  // destroyed before the memory that it works on.
  ppopt::runtime::Recording recording;
  ppopt::runtime::Background background;
  const std::unique_ptr<ppopt::runtime::Communicator> communicator;
  ppopt::runtime::TaskCollectives collectives;
  ppopt::runtime::TaskCalls calls;
  ppopt::runtime::StepGraph stepGraph; ///< of `places.actions`
  ppopt::runtime::StepResults results;

  /// For this rank in a step; bytes with the built-in collectives.
  const ppopt::runtime::Predicted predicted;
};

#endif // PPOPT_RUNTIME_EXECUTOR_RANK_H
