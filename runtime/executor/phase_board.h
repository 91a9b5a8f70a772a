//===- phase_board.h - What each rank is doing, for other processes -------===//
//
// For tests that stop or kill a rank in a phase of their choice. Each rank
// stores where it is to its row of a shared file: 8 integers of 8 bytes, of
// which those of Row are used. A process that is stopped (SIGSTOP) is where its
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
  start, ///< until the first step
  forward,
  backward,
  allReduce, ///< waits for a sum over ranks
  transfer,  ///< waits for another place
  update,    ///< the norm too
  evaluate,
  other, ///< between steps
};

class PhaseBoard {
public:
  using Value = std::atomic<int64_t>;
  struct alignas(64) Row {
    Value process; ///< its id
    Value step;    ///< from 1; 0 before the first
    Value phase;
    Value saving; ///< 1 while a thread beside writes a checkpoint
  };

  /// The row of a rank; the file is made, or kept where another rank has made
  /// it. Throws Error.
  PhaseBoard(const std::string &path, int64_t ranks, int64_t rank);
  ~PhaseBoard();
  PhaseBoard(const PhaseBoard &) = delete;
  PhaseBoard &operator=(const PhaseBoard &) = delete;

  void enter(Phase phase) {
    row().phase.store(int64_t(phase), std::memory_order_relaxed);
  }
  /// The phase of an action of a step. Those that take no time leave it as it
  /// is.
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
