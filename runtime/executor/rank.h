//===- rank.h - One rank of the job ---------------------------------------===//
//
// The handle that tasks pass back through the C ABI (ppopt/runtime.h): program,
// memory, threads, matmuls, communication, counters. Makes everything that a
// step needs once. A rank belongs to the thread that made it: a process has one
// rank, or one per thread. It holds the memory of its place or, if the launch
// is local, of all places.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_RANK_H
#define PPOPT_RUNTIME_EXECUTOR_RANK_H

#include "comm/channels.h"
#include "comm/local_channels.h"
#include "device/device.h"
#include "device/device_options.h"
#include "device/progress_hook.h"
#include "executor/buffers.h"
#include "executor/device_channels.h"
#include "executor/launch_times.h"
#include "executor/phase_board.h"
#include "executor/staging.h"
#include "executor/step_graph.h"
#include "executor/step_profile.h"
#include "executor/step_results.h"
#include "executor/task_collectives.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

namespace ppopt::runtime {

class Serving;

/// Counted since the rank was made.
struct Counters {
  int64_t launches = 0; ///< ppopt_launch and ppopt_matmul calls
  int64_t flops = 0;    ///< of matmuls, including those in kernels
};

/// The memory of one place.
struct PlaceMemory {
  /// `meshRank` is the rank of the mesh whose memory it is.
  PlaceMemory(Place resolved, const Program &program, int64_t meshRank,
              device::Device &device);

  device::DevicePointer at(const Address &address) const {
    return arena + address.offset();
  }

  // In `image`; the runs on a microbatch read its key.
  ppopt_step_state &stepState() {
    return *reinterpret_cast<ppopt_step_state *>(image.data());
  }
  ppopt_key &key(int64_t microbatch) {
    return *reinterpret_cast<ppopt_key *>(image.data() +
                                          PPOPT_KEY_OFFSET(microbatch));
  }

  const Place place; ///< its addresses are those of this rank
  /// What this rank has of each of `place.parameters`.
  const std::vector<schema::HeldParameter> parameters;
  const device::DevicePointer arena;
  /// Of the rank that has this place, then zeros.
  int64_t coordinates[PPOPT_MAX_AXES] = {};
  /// What the host has last written to the step state: the ppopt_step_state,
  /// and a ppopt_key per microbatch.
  std::vector<char> image;
};

/// A call of ppopt_matmul.
struct MatmulCall {
  int32_t matmul;
  device::DevicePointer a, b, c, workspace;
};

struct RankOptions {
  int threads = 1; ///< size of the rank's team, including its own thread
  comm::Collectives collectives = comm::Collectives::Ring;
  // On GPUs:
  device::GpuChoice choice;
  bool useGraph = true;    ///< repeat steps as graphs
  device::DeviceCode code; ///< of the program's kernels
};

} // namespace ppopt::runtime

struct ppopt_rank {
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

  /// Returns the memory of a place that this rank holds.
  ppopt::runtime::PlaceMemory &memoryOf(int64_t place) const {
    return *memory[place];
  }
  ppopt::device::DevicePointer
  at(const ppopt::runtime::PlaceAddress &at) const {
    return memoryOf(at.place).at(
        ppopt::schema::offsetOn(at.address, program.plan, index));
  }
  /// Returns where an address in the arena of `place` is.
  ppopt::device::DevicePointer
  at(const ppopt::runtime::Address &address) const {
    return memoryOf(place.place).at(address);
  }

  /// Blocks until the device has done all that was enqueued for tasks. Throws
  /// RankFailure if another rank has failed meanwhile. `isGraph`: these are a
  /// graph.
  void synchronize(bool isGraph = false);

  /// While it lives, launches are no part of the step that is computed: they
  /// are not counted, measured or traced, and do not progress communication. If
  /// a launch of the step runs, they run on this thread alone.
  class Aside {
  public:
    explicit Aside(ppopt_rank &rank)
        : rank(rank), isWithinLaunch(ppopt::device::progressHook != nullptr) {
      rank.aside = this;
    }
    ~Aside() { rank.aside = nullptr; }
    Aside(const Aside &) = delete;
    Aside &operator=(const Aside &) = delete;

    void launch(int32_t kernel, ppopt_kernel_fn fn, void *const *args,
                int64_t tiles) const;

  private:
    ppopt_rank &rank;
    const bool isWithinLaunch;
  };

  /// Returns the payload bytes of what this rank has started so far: those that
  /// its transport has sent, and those that operations in flight will send.
  /// Includes all collectives unless `options.collectives` is Native.
  int64_t bytesStarted() const;

  const ppopt::runtime::Program &program;
  const int index; ///< in [0, program.plan.ranks())
  const ppopt_task_fn *const tasks;
  ppopt::comm::Transport *const transport;
  const ppopt::runtime::RankOptions options;
  const std::unique_ptr<ppopt::device::Device> device;
  const ppopt::device::Stream compute; ///< of tasks
  /// By place; null if another rank holds it.
  std::vector<std::unique_ptr<ppopt::runtime::PlaceMemory>> memory;
  const ppopt::runtime::Place &place; ///< the rank's place; 0 if it holds all
  /// Set if the launch is local: the actions of this rank.
  const std::optional<ppopt::schema::LocalActions> local;
  const std::vector<ppopt::runtime::Action> &actions, &evalActions;
  /// The program's tensors in this memory.
  std::vector<ppopt::runtime::Buffer> inputs;
  std::vector<ppopt::runtime::ParameterBuffer> parameters;
  /// Of the operations of both kinds of channels. Destroyed after them.
  ppopt::runtime::Staging staging;
  ppopt::runtime::TaskCollectives collectives{*this}; ///< likewise
  // One of these, unless this is the only rank: through host memory, by the
  // device itself, or between the places of a local launch.
  std::optional<ppopt::comm::Channels> channels;
  std::optional<ppopt::runtime::DeviceChannels> deviceChannels;
  std::optional<ppopt::comm::LocalChannels> localChannels;
  ppopt::runtime::StepGraph stepGraph; ///< of `actions`
  ppopt::runtime::StepResults results{*this};
  /// For this rank in a step; bytes with the built-in collectives.
  ppopt::runtime::Predicted predicted{};
  ppopt::runtime::Counters counters;
  /// Where to accumulate times; null: nowhere.
  ppopt::runtime::StepProfile *profile = nullptr;
  /// Measures the launches of a profile; else the host does.
  std::optional<ppopt::runtime::LaunchTimes> launchTimes;
  /// Where to record each launch; null: nowhere.
  ppopt::runtime::StepTrace *launchTrace = nullptr;
  /// Where to publish what the rank is doing; null: nowhere.
  ppopt::runtime::PhaseBoard *board = nullptr;

  /// Where to list the matmuls that tasks launch, while nothing runs; null:
  /// everything runs.
  std::vector<ppopt::runtime::MatmulCall> *dryRun = nullptr;

  /// Set while launches are no part of a step.
  const Aside *aside = nullptr;

  /// Serves other ranks of asynchronous training; null: there is nothing to do.
  ppopt::runtime::Serving *serving = nullptr;

  /// Overwrite what tasks release; the executor sets it.
  bool poison = false;

  /// A failure in a task: exceptions must not pass through compiled code. Later
  /// launches do nothing, and the executor rethrows it.
  std::exception_ptr failure;

  /// Of the running task; used by the executor, sized once.
  std::vector<void *> arguments;
};

#endif // PPOPT_RUNTIME_EXECUTOR_RANK_H
