//===- checkpoints.cpp - Saves checkpoints during a run -------------------===//

#include "app/checkpoints.h"

#include "app/run_record.h"
#include "base/error.h"
#include "base/output_file.h"
#include "executor/executor.h"
#include "executor/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unistd.h>

namespace ppopt::train {
namespace {

constexpr size_t kParts = std::size(kCheckpointParts);

/// Copies the text, truncated to fit.
template <size_t N> void copyText(char (&into)[N], const std::string &text) {
  size_t length = std::min(text.size(), N - 1);
  std::memcpy(into, text.data(), length);
  into[length] = '\0';
}

} // namespace

/// The state of a rank's share, sent to rank 0.
struct Checkpoints::Report {
  int32_t busy;
  char error[1024]; ///< empty: no error
  uint64_t bytes[kParts];
  char checksum[kParts][33];
};

Checkpoints::Checkpoints(ppopt_rank &rank, const Job &job, Progress *progress)
    : rank_(rank), job_(job), progress_(progress), best_(rank, job),
      writer_(rank, job.options.checkpointMemory) {
  if (job.resumed)
    saved_ = job.resumed->manifest().step;
  if (rank.index == 0)
    lock_.emplace(job.options.checkpoint);
  if (rank.transport)
    agreeOnStart();
  if (job.options.best.isGiven()) {
    evaluatesFirst_ =
        job.resumed && bestIn(job.options.checkpoint) == job.firstStep();
    if (rank.transport)
      Messages(rank).broadcast(&evaluatesFirst_, sizeof evaluatesFirst_);
  }
}

/// Checks that all ranks see the same folder and the same newest checkpoint,
/// because each rank looks for it and writes its share by itself.
void Checkpoints::agreeOnStart() {
  const std::string &folder = job_.options.checkpoint;
  std::array<char, kMarkBytes> mark{};
  if (rank_.index == 0)
    std::copy_n(lock_->mark().begin(), kMarkBytes, mark.begin());
  Messages(rank_).broadcast(mark.data(), kMarkBytes);
  struct View {
    int64_t saved;
    int32_t seesMark;
  } mine{saved_, seesMark(folder, std::string(mark.data(), kMarkBytes))};
  std::vector<View> all(rank_.program.plan.ranks());
  Messages(rank_).gather(&mine, sizeof mine, all.data());
  if (rank_.index != 0)
    return;
  auto step = [](int64_t saved) {
    return saved < 0 ? "no checkpoint" : fmt::format("step {}", saved);
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].saved != saved_)
      throw runtime::Error("--resume: rank 0 finds {} in {}, rank {} finds {}: "
                           "all must see the same folder",
                           step(saved_), folder, rank, step(all[rank].saved));
    if (!all[rank].seesMark)
      throw runtime::Error("--checkpoint {}: rank {} sees another folder of "
                           "that name than rank 0: give one on a file system "
                           "that all machines share",
                           folder, rank);
  }
}

void Checkpoints::afterStep(int64_t stepsDone, int64_t updates) {
  poll();
  if (job_.options.checkpointEvery > 0 &&
      stepsDone % job_.options.checkpointEvery == 0)
    begin(stepsDone, updates);
}

void Checkpoints::keepBest(int64_t stepsDone, int64_t updates) {
  bool isBeingSaved = phase_ == Phase::Writing && step_ == stepsDone;
  if (!isBeingSaved)
    finish();
  bestStep_ = stepsDone;
  if (isBeingSaved)
    return; // the commit makes the link
  if (saved_ != stepsDone)
    return begin(stepsDone, updates);
  if (rank_.index != 0)
    return;
  warning_.clear();
  tidy(saved_);
  if (!warning_.empty())
    progress_->note("warning: " + warning_);
}

/// On rank 0, after the checkpoint of step `newest` is complete.
void Checkpoints::tidy(int64_t newest) {
  const std::string &folder = job_.options.checkpoint;
  try {
    if (bestStep_ == newest)
      linkBest(folder, newest);
    removeOlder(folder, job_.options.keep, newest);
  } catch (const runtime::Error &error) {
    warning_ = error.what();
  }
}

void Checkpoints::begin(int64_t stepsDone, int64_t updates) {
  Stopwatch watch;
  finish();
  sinceBegin_ = watch;
  step_ = stepsDone;
  updates_ = updates;
  error_.clear();
  warning_.clear();
  bytes_ = 0;
  bestBefore_ = best_.recordBefore(stepsDone);
  // Rank 0 chooses the folder's name for all ranks.
  struct {
    int64_t writer;
    int32_t isThere;
  } place{::getpid(), 1};
  if (rank_.index == 0) {
    partial_ = partialPath(job_.options.checkpoint, step_, place.writer);
    try {
      createPartial(job_.options.checkpoint, partial_);
    } catch (const runtime::Error &error) {
      error_ = error.what();
      place.isThere = 0;
    }
  }
  if (rank_.transport)
    Messages(rank_).broadcast(&place, sizeof place);
  if (!place.isThere)
    return tell();
  partial_ = partialPath(job_.options.checkpoint, step_, place.writer);
  phase_ = Phase::Writing;
  runtime::finishSteps(rank_);
  writer_.begin(partial_);
  stoodMilliseconds_ = sinceBegin_.milliseconds();
}

void Checkpoints::poll() {
  if (phase_ == Phase::Idle)
    return;
  Report mine{};
  mine.busy = writer_.thread().isBusy();
  if (!mine.busy) {
    copyText(mine.error, writer_.thread().error());
    // The next jobs of rank 0's thread do not write shares.
    if (phase_ == Phase::Writing && mine.error[0] == '\0')
      for (size_t part = 0; part < kParts; ++part) {
        mine.bytes[part] = writer_.files()[part].bytes;
        copyText(mine.checksum[part], writer_.files()[part].checksum);
      }
  }
  exchange(mine);
}

/// Rank 0 decides on the next phase and broadcasts it.
void Checkpoints::exchange(const Report &mine) {
  std::vector<Report> reports(rank_.program.plan.ranks(), mine);
  if (rank_.transport)
    Messages(rank_).gather(&mine, sizeof mine, reports.data());
  struct {
    Phase phase;
    int64_t saved;
  } decision{phase_, saved_};
  if (rank_.index == 0) {
    decision.phase = advance(reports);
    if (decision.phase == Phase::Idle && error_.empty())
      decision.saved = step_;
  }
  if (rank_.transport)
    Messages(rank_).broadcast(&decision, sizeof decision);
  phase_ = decision.phase;
  saved_ = decision.saved;
  if (phase_ == Phase::Idle)
    tell();
}

Checkpoints::Phase Checkpoints::advance(const std::vector<Report> &reports) {
  if (std::any_of(reports.begin(), reports.end(),
                  [](const Report &report) { return report.busy; }))
    return phase_;
  auto failed =
      std::find_if(reports.begin(), reports.end(), [](const Report &report) {
        return report.error[0] != '\0';
      });
  if (phase_ == Phase::Discarding)
    return Phase::Idle;
  if (failed != reports.end()) {
    discard(failed->error);
    return Phase::Discarding;
  }
  if (phase_ == Phase::Committing)
    return Phase::Idle;
  commit(reports);
  return Phase::Committing;
}

/// Commits on the thread that wrote rank 0's share.
void Checkpoints::commit(const std::vector<Report> &reports) {
  Manifest manifest = describeRun(job_);
  manifest.step = step_;
  manifest.updates = updates_;
  manifest.best = bestBefore_;
  for (size_t rank = 0; rank < reports.size(); ++rank)
    for (CheckpointPart part : kCheckpointParts) {
      size_t index = static_cast<size_t>(part);
      if (uint64_t bytes = reports[rank].bytes[index]) {
        manifest.files.push_back({checkpointFileName(part, int64_t(rank)),
                                  bytes, reports[rank].checksum[index]});
        bytes_ += bytes;
      }
    }
  writer_.thread().start([this, text = printManifest(manifest)] {
    OutputFile file(partial_ + "/" + kManifestName);
    file.write(text.data(), text.size());
    file.sync();
    file.close();
    commitPartial(partial_, job_.options.checkpoint, step_);
    tidy(step_);
  });
}

void Checkpoints::discard(const std::string &error) {
  error_ = error;
  writer_.thread().start([this] { removePartial(partial_); });
}

void Checkpoints::finish() {
  while (phase_ != Phase::Idle) {
    writer_.wait();
    poll();
  }
}

void Checkpoints::save(int64_t stepsDone, int64_t updates) {
  finish();
  if (step_ == stepsDone || saved_ == stepsDone)
    return;
  begin(stepsDone, updates);
  finish();
}

void Checkpoints::expectSaved(int64_t stepsDone) const {
  if (rank_.index == 0 && saved_ != stepsDone)
    throw runtime::Error("the run has ended without a checkpoint of step {}: "
                         "{}",
                         stepsDone, error_);
  if (rank_.index == 0 && bestStep_ >= 0 &&
      bestIn(job_.options.checkpoint) != bestStep_)
    throw runtime::Error("the run has ended without the checkpoint of the best "
                         "evaluation, that after step {}: {}",
                         bestStep_, error_.empty() ? warning_ : error_);
}

void Checkpoints::tell() const {
  if (!progress_)
    return;
  const std::string &folder = job_.options.checkpoint;
  if (!error_.empty())
    return progress_->checkpointFailed(
        step_, error_, saved_ < 0 ? "" : folder + "/" + checkpointName(saved_));
  progress_->checkpoint(step_, folder + "/" + checkpointName(step_), bytes_,
                        sinceBegin_.milliseconds(), stoodMilliseconds_);
  if (!warning_.empty())
    progress_->note("warning: " + warning_);
}

} // namespace ppopt::train
