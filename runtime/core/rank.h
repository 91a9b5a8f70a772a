//===- rank.h - One rank of the job -----------------------------*- C++ -*-===//
//
// The handle that tasks pass back through the C ABI (ppopt/runtime.h): program,
// arena, record, threads, products, collectives, counters. Everything that a
// step needs is made here, once. A rank belongs to the thread that made it: a
// process has one, or one for each of several threads.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CORE_RANK_H
#define PPOPT_RUNTIME_CORE_RANK_H

#include "comm/channels.h"
#include "core/arena.h"
#include "core/buffers.h"
#include "core/program.h"
#include "device/cpu/matmul.h"
#include "ppopt/runtime.h"

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace ppopt::runtime {

/// Since the rank was made.
struct Counters {
  int64_t launches = 0; ///< ppopt_launch and ppopt_matmul calls
  int64_t flops = 0;    ///< of products
};

struct RankOptions {
  int threads = 1; ///< the rank's team, its own thread included
  comm::Collectives collectives = comm::Collectives::Ring;
};

} // namespace ppopt::runtime

struct ppopt_rank {
  /// Rank transport->rank() of the program. `tasks` is the executable's
  /// ppopt_tasks. `program` and `transport` must outlive the rank; `transport`
  /// may be null where the plan has one rank. Throws Error: no memory, another
  /// number of ranks than the plan's, a product or a collective that cannot be
  /// prepared.
  ppopt_rank(const ppopt::runtime::Program &program, const ppopt_task_fn *tasks,
             ppopt::comm::Transport *transport,
             const ppopt::runtime::RankOptions &options);
  ppopt_rank(const ppopt_rank &) = delete;
  ppopt_rank &operator=(const ppopt_rank &) = delete;

  /// The address of an offset of the place.
  char *at(int64_t offset) const { return arena.base() + offset; }

  /// Payload bytes that this rank's transport has sent so far. Counts all
  /// collectives only where `options.collectives` is Ring.
  int64_t bytesSent() const;

  /// First row of the global batch of this rank's microbatch.
  int64_t rowOffset(int64_t microbatch) const;

  const ppopt::runtime::Program &program;
  const int index;                    ///< in [0, program.plan.ranks())
  const ppopt::runtime::Place &place; ///< this rank's memory and actions
  const ppopt_task_fn *const tasks;
  ppopt::comm::Transport *const transport;
  const ppopt::runtime::RankOptions options;
  ppopt::runtime::Arena arena;
  ppopt_record &record;                                 ///< in the arena
  const std::vector<ppopt::runtime::Buffer> inputs;     ///< in the arena
  const std::vector<ppopt::runtime::Buffer> parameters; ///< in the arena
  std::vector<ppopt::PreparedProduct> products;
  std::optional<ppopt::comm::Channels> channels; ///< of the program's starts
  /// By this rank in a step, with the built-in collectives.
  int64_t predictedBytesSent = 0;
  ppopt::runtime::Counters counters;

  /// What went wrong inside a task: an exception must not pass through compiled
  /// code. The launches that follow do nothing, and the walker rethrows it.
  std::exception_ptr failure;

  // The walker's, sized once:
  std::vector<void *> arguments; ///< of the task that runs
  std::vector<int> inFlight;     ///< collectives started and not waited for
};

#endif // PPOPT_RUNTIME_CORE_RANK_H
