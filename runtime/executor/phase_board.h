//===- phase_board.h - Publishes a rank's phase to other processes --------===//
//
// For tests that stop or kill a rank in a chosen phase. Each rank stores its
// phase in its row of a shared file: 8 integers of 8 bytes, of which Row uses
// the first ones. A process that is stopped (SIGSTOP) is in the phase that its
// row says.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_PHASE_BOARD_H
#define PPOPT_RUNTIME_EXECUTOR_PHASE_BOARD_H

#include "program/program.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace ppopt::runtime {

enum class Phase : int64_t {
  start, ///< before the first step
  forward,
  backward,
  allReduce, ///< waits for a sum over ranks, or sums over places
  transfer,  ///< waits for another place, or copies to it
  update,    ///< includes the norm
  evaluate,
  other, ///< between steps
};

class PhaseBoard {
public:
  using Value = std::atomic<int64_t>;
  struct alignas(64) Row {
    Value process; ///< process id
    Value step;    ///< from 1; 0 before the first
    Value phase;
    Value saving; ///< 1 while a background thread writes a checkpoint
  };

  /// Maps the row of a rank. Creates the file, or keeps it if another rank has
  /// created it. Throws Error.
  PhaseBoard(const std::string &path, int64_t ranks, int64_t rank);
  ~PhaseBoard();
  PhaseBoard(const PhaseBoard &) = delete;
  PhaseBoard &operator=(const PhaseBoard &) = delete;

  void enter(Phase phase) {
    row().phase.store(int64_t(phase), std::memory_order_relaxed);
  }
  /// Enters the phase of an action of a step. Actions that take no time do not
  /// change it.
  void enter(const Program &program, const Action &action);
  void beginStep(int64_t step) {
    row().step.store(step, std::memory_order_relaxed);
  }
  Value &saving() { return row().saving; }

private:
  Row &row() { return rows[rank]; }

  Row *rows;
  const int64_t ranks, rank;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_PHASE_BOARD_H
