//===- run_order.h - --record and --replay --------------------------------===//

#ifndef PPOPT_RUNTIME_APP_RUN_ORDER_H
#define PPOPT_RUNTIME_APP_RUN_ORDER_H

#include "app/job.h"
#include "asynchronous/replay_log.h"

#include <cstdint>
#include <optional>
#include <string>

struct ppopt_rank;

namespace ppopt::runtime {
class Serving;
} // namespace ppopt::runtime

namespace ppopt::train {

/// The order in which owners applied updates and answered trainers: written as
/// a run goes on, or read to repeat it. All ranks call the same functions,
/// between rounds.
class RunOrder {
public:
  /// Opens the files that the flags name. The run begins with ticket `first`,
  /// and each bucket contains `arrivals` updates. Throws Error if a file can't
  /// be opened, or is of another run.
  RunOrder(const ppopt_rank &rank, const Job &job, int64_t first,
           int64_t arrivals);
  ~RunOrder();
  RunOrder(const RunOrder &) = delete;
  RunOrder &operator=(const RunOrder &) = delete;

  /// Lets the rank follow the recorded order, or record its own.
  void apply(runtime::Serving &serving) const;
  /// Writes what ranks have done in a round, which has ended before this
  /// ticket.
  void write(runtime::Serving &serving, int64_t end);
  /// Ends the file.
  void finish();

private:
  void readFrom(const std::string &path);
  void append(const std::string &text);

  const ppopt_rank &rank_;
  const std::string path_; ///< of --record; empty: nothing is recorded
  asynchronous::ReplayLog own_;
  std::optional<asynchronous::ReplayLog> followed_;
  int file_ = -1; ///< on rank 0
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RUN_ORDER_H
