//===- checkpoints.h - The checkpoints that a run writes ------------------===//

#ifndef PPOPT_RUNTIME_APP_CHECKPOINTS_H
#define PPOPT_RUNTIME_APP_CHECKPOINTS_H

#include "app/job.h"
#include "base/stopwatch.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/share_writer.h"
#include "observe/progress.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ppopt::train {

/// Saves while training goes on. All ranks call the same functions with the
/// same arguments, between steps. A save that fails is reported, leaves what
/// was saved before, and is no reason to stop.
class Checkpoints {
public:
  /// `progress` is rank 0's, null elsewhere. Throws Error where the folder
  /// cannot be had.
  Checkpoints(const ppopt_rank &rank, const Job &job, Progress *progress);

  /// After every step: ends what is written by now, and begins to save where a
  /// save is due. `updates` are those of the optimizer so far.
  void afterStep(int64_t stepsDone, int64_t updates);

  /// Begins to save, after waiting for a save in progress.
  void begin(int64_t stepsDone, int64_t updates);
  /// Ends a save in progress if all ranks have written their share.
  void poll();
  /// Waits for a save in progress.
  void finish();
  /// Saves and waits; nothing where this step is saved, or was tried.
  void save(int64_t stepsDone, int64_t updates);

  /// Rank 0 throws Error where the last save was not of this step, with the
  /// reason: the end of a run is no time to go on.
  void expectSaved(int64_t stepsDone) const;

private:
  enum class Phase : int32_t { Idle, Writing, Committing, Discarding };
  struct Report;

  void agreeOnStart();
  void exchange(const Report &mine);
  Phase advance(const std::vector<Report> &reports);
  void commit(const std::vector<Report> &reports);
  void discard(const std::string &error);
  void tell() const;

  const ppopt_rank &rank_;
  const Job &job_;
  Progress *const progress_;
  std::optional<FolderLock> lock_; ///< rank 0's
  int64_t saved_ = -1;             ///< step of the newest that is complete

  // Of the save in progress, or the last.
  Phase phase_ = Phase::Idle;
  int64_t step_ = -1, updates_ = 0;
  std::string partial_;
  Stopwatch sinceBegin_;
  double stoodMilliseconds_ = 0;
  // Rank 0's:
  uint64_t bytes_ = 0;
  std::string error_;   ///< why it failed
  std::string warning_; ///< what failed after it

  ShareWriter writer_; ///< last: jobs of its thread use the others
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_CHECKPOINTS_H
