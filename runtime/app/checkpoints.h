//===- checkpoints.h - Saves checkpoints during a run ---------------------===//

#ifndef PPOPT_RUNTIME_APP_CHECKPOINTS_H
#define PPOPT_RUNTIME_APP_CHECKPOINTS_H

#include "app/best_evaluation.h"
#include "app/job.h"
#include "base/stopwatch.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/share_writer.h"
#include "observe/progress.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ppopt::train {

/// Saves checkpoints while training continues. All ranks call the same
/// functions with the same arguments, between steps. A failed save is reported,
/// keeps earlier checkpoints, and does not stop the run.
class Checkpoints {
public:
  /// `progress` is null on all ranks but 0. Throws Error if the folder cannot
  /// be locked or is not shared by all ranks.
  Checkpoints(ppopt_rank &rank, const Job &job, Progress *progress);

  /// Called after every step. Completes a save whose files are written, and
  /// begins a save if one is due. `updates` counts optimizer updates so far.
  void afterStep(int64_t stepsDone, int64_t updates);

  /// Compares an evaluation with those before it (BestEvaluation::judge).
  BestEvaluation::Verdict judge(int64_t stepsDone, double loss,
                                const std::vector<double> &metrics) {
    return best_.judge(stepsDone, loss, metrics);
  }
  const std::optional<BestRecord> &best() const { return best_.record(); }
  /// Makes the state after this step the best one: begins to save it if no
  /// checkpoint has it.
  void keepBest(int64_t stepsDone, int64_t updates);
  /// Returns whether a resumed run evaluates before its first step in any case:
  /// the checkpoint is the best one, and says nothing of its own evaluation.
  bool evaluatesFirst() const { return evaluatesFirst_; }

  /// Begins a save, after waiting for a save in progress.
  void begin(int64_t stepsDone, int64_t updates);
  /// Completes a save in progress if all ranks have written their share.
  void poll();
  /// Waits for a save in progress.
  void finish();
  /// Saves and waits. Does nothing if this step was already saved or tried.
  void save(int64_t stepsDone, int64_t updates);

  /// Throws Error on rank 0, with the reason, if this step is not saved, or the
  /// best one is not kept. At the end of a run a failed save is an error.
  void expectSaved(int64_t stepsDone) const;

private:
  enum class Phase : int32_t { Idle, Writing, Committing, Discarding };
  struct Report;

  void agreeOnStart();
  void exchange(const Report &mine);
  Phase advance(const std::vector<Report> &reports);
  void commit(const std::vector<Report> &reports);
  void discard(const std::string &error);
  void tidy(int64_t newest);
  void tell() const;

  ppopt_rank &rank_;
  const Job &job_;
  Progress *const progress_;
  std::optional<FolderLock> lock_; ///< on rank 0
  BestEvaluation best_;
  bool evaluatesFirst_ = false;
  int64_t bestStep_ = -1; ///< the best one that this run has found; -1: none
  int64_t saved_ = -1;    ///< step of the newest complete checkpoint

  // The save in progress, or the last one.
  Phase phase_ = Phase::Idle;
  int64_t step_ = -1, updates_ = 0;
  std::string partial_;
  Stopwatch sinceBegin_;
  double stoodMilliseconds_ = 0;
  // On rank 0 only:
  uint64_t bytes_ = 0;
  std::string error_;   ///< why the save failed
  std::string warning_; ///< what failed after a successful save
  std::optional<BestRecord> bestBefore_;

  ShareWriter writer_; ///< last: its thread uses the members above
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_CHECKPOINTS_H
