//===- run_order.h - --record and --replay --------------------------------===//

#ifndef PPOPT_RUNTIME_APP_RUN_ORDER_H
#define PPOPT_RUNTIME_APP_RUN_ORDER_H

#include "app/job.h"
#include "asynchronous/replay_log.h"
#include "files/whole_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  /// with the parameters that are there now, and each bucket contains
  /// `arrivals` updates. Its rounds end before the tickets `agreements`. Throws
  /// Error if a file can't be opened, is of another run, or is of none.
  RunOrder(const ppopt_rank &rank, const Job &job, int64_t first,
           int64_t arrivals, const std::vector<int64_t> &agreements);
  RunOrder(const RunOrder &) = delete;
  RunOrder &operator=(const RunOrder &) = delete;

  /// Lets the rank follow the recorded order, or record its own.
  void apply(runtime::Serving &serving) const;
  /// Writes what ranks have done in a round, which has ended before this
  /// ticket.
  void write(runtime::Serving &serving, int64_t end);
  /// Ends the file and puts it in place. The file of a run that does not come
  /// so far is removed: an older one stays as it was.
  void finish();

private:
  std::string digestOfInitial() const;
  void readFrom(const std::string &path,
                const std::vector<int64_t> &agreements);
  void expect(const std::string &failure) const;
  void append(const std::string &text);

  const ppopt_rank &rank_;
  const std::string path_; ///< of --record; empty: nothing is recorded
  asynchronous::ReplayLog own_;
  std::optional<asynchronous::ReplayLog> followed_;
  WholeFile file_; ///< on rank 0
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RUN_ORDER_H
