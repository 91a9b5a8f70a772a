//===- prediction_loop.cpp - Computes a model's outputs for all rows ------===//

#include "app/prediction_loop.h"

#include "app/rank_loop.h"
#include "base/stop_signals.h"
#include "checkpoint/pass_tensor.h"
#include "data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

namespace ppopt::train {
namespace {

using runtime::Output;
using runtime::Program;

/// Returns who has the first `rows` rows that an evaluation makes of an output:
/// of the ranks with the same rows, the first.
TensorCopy findRows(const Program &program, size_t output, int64_t rows) {
  const runtime::Plan &plan = program.plan;
  const Output &declared = program.outputs[output];
  int64_t size = byteSize(declared.type);
  int64_t perRow = declared.bytesPerRow() / size;
  TensorCopy copy;
  std::set<int64_t> parts;
  for (const runtime::Place &place : program.places)
    for (const schema::PlaceOutput &made : place.outputs)
      for (int64_t rank : plan.getMesh().ranksOf(place.place)) {
        int64_t part = plan.batchPart(rank);
        if (made.output != int64_t(output) || !parts.insert(part).second)
          continue;
        int64_t begin = std::min(part * plan.rowsOfPart(), rows);
        int64_t end = std::min((part + 1) * plan.rowsOfPart(), rows);
        copy.push_back(
            {program.local ? 0 : rank,
             place.place,
             made.address,
             {geometry::Tile(rows * perRow), begin * perRow, end * perRow},
             size});
      }
  return copy;
}

class PredictionLoop final : public RankLoop {
public:
  PredictionLoop(const Job &job, const StoredProgram &stored,
                 comm::Transport *transport)
      : RankLoop(job, stored, transport),
        allRows_(int64_t(job.prediction->reader().count())) {}

private:
  int runSteps() override;
  /// Selects the outputs that are written, and begins the file on rank 0.
  std::unique_ptr<SafetensorsWriter> open();
  void predict(int64_t first);
  /// `file` is null on other ranks than 0.
  void write(int64_t first, SafetensorsWriter *file);
  /// Returns how many rows of the batch that begins with row `first` are there.
  int64_t countRows(int64_t first) const {
    return std::min(program_.plan.batch, allRows_ - first);
  }

  const int64_t allRows_;
  std::vector<size_t> written_; ///< the outputs
};

std::unique_ptr<SafetensorsWriter> PredictionLoop::open() {
  std::vector<TensorToStore> tensors;
  const std::vector<std::string> &only = options_.only;
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const Output &output = program_.outputs[i];
    if (!only.empty() && std::count(only.begin(), only.end(), output.name) == 0)
      continue;
    std::vector<int64_t> shape = output.shape;
    shape.front() = allRows_;
    tensors.push_back(
        {output.name, safetensorsDtype(spell(output.type)), shape});
    written_.push_back(i);
  }
  if (rank_.index != 0)
    return nullptr;
  std::map<std::string, std::string> metadata{{"format", "pt"}};
  return std::make_unique<SafetensorsWriter>(options_.output, tensors,
                                             metadata);
}

/// Runs the model on a batch. In place of rows that are not there it has the
/// last one again.
void PredictionLoop::predict(int64_t first) {
  int64_t batch = first / program_.plan.batch, end = first + countRows(first);
  publish(runtime::Phase::evaluate);
  samples_.fill(*job_.prediction, batch);
  if (end < allRows_)
    samples_.prefetch(*job_.prediction, batch + 1);
  runtime::runEvaluation(rank_, settings_, executorOptions_);
  nonFiniteSteps_.lookAtIds(fmt::format("{} to {}", first, end - 1));
  publish(runtime::Phase::other);
}

void PredictionLoop::write(int64_t first, SafetensorsWriter *file) {
  int64_t rows = countRows(first);
  for (size_t i = 0; i < written_.size(); ++i) {
    const Output &output = program_.outputs[written_[i]];
    int64_t perRow = output.bytesPerRow(), size = byteSize(output.type);
    auto offset = uint64_t(first * perRow);
    passToRank0(rank_, findRows(program_, written_[i], rows),
                {rows, perRow / size, size}, /*isTransposed=*/false,
                [&](const void *data, uint64_t bytes) {
                  file->write(i, offset, data, bytes);
                  offset += bytes;
                });
  }
}

int PredictionLoop::runSteps() {
  start();
  // Not a member: it is removed before other ranks learn of a failure, and end
  // this process.
  std::unique_ptr<SafetensorsWriter> file = open();
  enter(comm::Activity::Part::Evaluation, first_);
  Stopwatch watch;
  for (int64_t done = 0; done < allRows_;) {
    if (control_.agreesToStop()) {
      if (progress_)
        progress_->note(fmt::format(
            "stopped by {} after {} of {} rows: {} is not written",
            signalName(control_.signal()), done, allRows_, options_.output));
      return stopStatus(control_.signal());
    }
    predict(done);
    write(done, file.get());
    done += countRows(done);
    if (progress_)
      progress_->predicting(done, allRows_, watch.seconds());
  }
  if (file)
    file->commit();
  if (progress_)
    progress_->predicted(allRows_, watch.seconds(), options_.output);
  return 0;
}

} // namespace

int predict(const Job &job, const StoredProgram &stored,
            comm::Transport *transport) {
  return PredictionLoop(job, stored, transport).run();
}

} // namespace ppopt::train
