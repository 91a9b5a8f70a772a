//===- job.cpp - The opened files and settings of a run -------------------===//

#include "app/job.h"

#include "app/best_evaluation.h"
#include "app/flag_combinations.h"
#include "app/resume.h"
#include "app/run_record.h"
#include "base/error.h"
#include "base/list_files.h"
#include "base/usage_error.h"
#include "data/safetensors.h"
#include "observe/log_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

namespace ppopt::train {
namespace {

using runtime::Program;

constexpr int64_t kEvalBatches = 8; ///< the most without a flag

/// Throws Error if the samples do not fill one batch.
void checkFillsBatch(const Program &program, const SampleReader &reader,
                     const char *flag) {
  const runtime::Plan &plan = program.plan;
  auto count = static_cast<int64_t>(
      std::min<uint64_t>(reader.count(), static_cast<uint64_t>(INT64_MAX)));
  if (count >= plan.batch)
    return;
  // Each part of the batch splits its rows into the same number of
  // microbatches.
  int64_t tiles = plan.batchParts() * plan.microbatches;
  int64_t fits = count / tiles * tiles;
  throw Error("{}: {} {} do not fill one batch of {}: give at least {} more, "
              "or compile "
              "with {}",
              flag, count, reader.unit(), plan.batch, plan.batch - count,
              fits > 0
                  ? fmt::format("--batch {}", fits)
                  : fmt::format("a --batch of at most {} and fewer ranks or "
                                "microbatches, which divide it",
                                std::max<int64_t>(count, 1)));
}

/// As makeTensorReader, and adds notes about tensors that are converted, and
/// that are not read.
std::shared_ptr<SampleReader> openTensors(const Program &program,
                                          const std::vector<std::string> &paths,
                                          const std::string &flag,
                                          std::vector<std::string> &notes) {
  TensorNotes found;
  std::shared_ptr<SampleReader> reader =
      makeTensorReader(program, paths, flag, &found);
  if (!found.converted.empty())
    notes.push_back(fmt::format("{}: stored as U8, converted to the inputs' "
                                "types, values 0 to 255: {}",
                                flag, fmt::join(found.converted, ", ")));
  if (!found.others.empty())
    notes.push_back(fmt::format("{}: not read, since {}: {}", flag,
                                flag == "--predict"
                                    ? "no output needs it"
                                    : "the model has no such input",
                                fmt::join(found.others, ", ")));
  return reader;
}

std::optional<Sampler> openTraining(const Program &program,
                                    const Options &options,
                                    std::vector<std::string> &notes) {
  std::shared_ptr<SampleReader> reader;
  if (!options.data.empty())
    reader = makeTokenReader(program, options.data, options.tokens, "--data");
  else if (!options.inputs.empty())
    reader = openTensors(program, options.inputs, "--inputs", notes);
  else
    return std::nullopt;
  checkFillsBatch(program, *reader,
                  options.data.empty() ? "--inputs" : "--data");
  std::unique_ptr<SampleOrder> order;
  if (options.shuffle)
    order = std::make_unique<ShuffledOrder>(options.seed, reader->count());
  else
    order = std::make_unique<SequentialOrder>(reader->count());
  return Sampler(program, std::move(reader), std::move(order));
}

/// Sets the steps in which each sample is taken at least so often.
void takeEpochs(Options &options, const Sampler &training, int64_t batch,
                std::vector<std::string> &notes) {
  auto samples = static_cast<double>(training.reader().count());
  double steps =
      std::ceil(samples * static_cast<double>(options.epochs) / batch);
  if (!(steps < 1e15))
    throw UsageError("--epochs {}: {} samples are more steps than can be "
                     "counted",
                     options.epochs, training.reader().count());
  setSteps(options, static_cast<int64_t>(steps));
  notes.push_back(
      fmt::format("--epochs {}: {} steps", options.epochs, options.steps));
}

/// Returns the rows of an evaluation: those of full batches only if the model
/// mixes the rows of a batch. Throws Error if there are not enough samples.
int64_t chooseEvalRows(const Program &program, const Options &options,
                       const SampleReader &reader, const char *flag) {
  int64_t batch = program.plan.batch;
  bool wholeBatches = !program.plan.mixesRows.empty();
  if (wholeBatches)
    checkFillsBatch(program, reader, flag);
  auto count = static_cast<int64_t>(
      std::min<uint64_t>(reader.count(), INT64_MAX - batch));
  int64_t full = count / batch;
  int64_t most = full + (!wholeBatches && count % batch > 0);
  if (options.evalBatches > most)
    throw Error("--eval-batches {}: {} has {} {}, enough for {} batches of {}",
                options.evalBatches, flag, reader.count(), reader.unit(), most,
                batch);
  int64_t batches = options.evaluatesAll      ? most
                    : options.evalBatches > 0 ? options.evalBatches
                                              : std::min(most, kEvalBatches);
  return std::min(batches * batch, wholeBatches ? full * batch : count);
}

/// Reads all rows in the order of the data, and then the last of them again.
std::optional<Sampler> openPrediction(const Program &program,
                                      const Options &options,
                                      std::vector<std::string> &notes) {
  if (options.predict.empty())
    return std::nullopt;
  std::shared_ptr<SampleReader> reader =
      openTensors(program, options.predict, "--predict", notes);
  auto order = std::make_unique<SpacedOrder>(reader->count(), reader->count());
  return Sampler(program, std::move(reader), std::move(order));
}

/// Registers the files of samples, and the folders in which they were found: by
/// links these are not all inside the folders that were given.
void addSamples(PathUses &uses, const std::string &flag,
                const std::vector<std::string> &given,
                const SampleReader &reader, const std::string &extension) {
  std::set<std::string> paths, folders;
  for (const std::string &path : given)
    paths.insert(std::filesystem::path(path).lexically_normal());
  for (const SampleFile &file : reader.files()) {
    uses.readsFound(flag, file.path);
    if (paths.count(file.path) == 0)
      folders.insert(folderOf(file.path));
  }
  for (const std::string &folder : folders)
    uses.reads(flag, folder, [=](std::string_view path) {
      return isListed(path, extension);
    });
}

/// Checks all paths that the run reads and writes for conflicts, before it
/// writes anything. Includes the sample files that were found.
void checkPaths(const Options &options, const std::optional<Sampler> &training,
                const std::optional<Sampler> &evaluation,
                const std::optional<Sampler> &prediction) {
  if (options.outputs.empty() && options.checkpoint.empty() &&
      options.tensorboard.empty())
    return;
  PathUses uses = options.paths;
  uses.writesOutput();
  std::error_code error;
  uses.reads("this program",
             std::filesystem::read_symlink("/proc/self/exe", error));
  if (training && !options.data.empty())
    addSamples(uses, "--data", options.data, training->reader(), "");
  else if (training)
    addSamples(uses, "--inputs", options.inputs, training->reader(),
               kTensorExtension);
  if (evaluation && !options.evalData.empty())
    addSamples(uses, "--eval-data", options.evalData, evaluation->reader(), "");
  else if (evaluation)
    addSamples(uses, "--eval-inputs", options.evalInputs, evaluation->reader(),
               kTensorExtension);
  if (prediction)
    addSamples(uses, "--predict", options.predict, prediction->reader(),
               kTensorExtension);
  if (std::string conflict = uses.findConflict(); !conflict.empty())
    throw UsageError("{}", conflict);
}

/// Checks that outputs are writable, so that a run does not fail hours later.
void checkWritable(const Options &options) {
  for (const OutputPath &output : options.outputs)
    if (std::string why = whyNotWritable(output.path, output.writing);
        !why.empty())
      throw Error("{} {}: {}", output.flag, output.path, why);
  std::error_code error;
  if (std::filesystem::exists(options.output, error))
    throw Error("--output {}: there is a file of that name: remove it, or give "
                "another",
                options.output);
}

} // namespace

Job::Job(const Program &program, const Options &given,
         std::optional<int64_t> rank, std::string_view bufferBytes)
    : program(program), options(given) {
  training = openTraining(program, options, notes);
  if (training && options.epochs > 0)
    takeEpochs(options, *training, program.plan.batch, notes);
  prediction = openPrediction(program, options, notes);
  bool tokens = !options.evalData.empty();
  if (tokens || !options.evalInputs.empty()) {
    const char *flag = tokens ? "--eval-data" : "--eval-inputs";
    std::shared_ptr<SampleReader> reader =
        tokens
            ? makeTokenReader(program, options.evalData, options.tokens, flag)
            : openTensors(program, options.evalInputs, flag, notes);
    evalRows = chooseEvalRows(program, options, *reader, flag);
    auto order = std::make_unique<SpacedOrder>(reader->count(),
                                               static_cast<uint64_t>(evalRows));
    evaluation.emplace(program, std::move(reader), std::move(order));
  }
  std::vector<TensorToStore> buffers = bufferTensors(program, bufferBytes);
  if (options.exportMap.empty()) {
    exported = ownTensors(program);
    exportedBuffers = buffers;
  } else {
    exported = ParameterMap::read(options.exportMap).tensorsOf(program);
  }
  if (!options.initMap.empty())
    initial = std::make_unique<InitialParameters>(
        program, options.init, ParameterMap::read(options.initMap));
  else if (!options.init.paths.empty())
    initial = std::make_unique<InitialParameters>(program, options.init,
                                                  buffers, rank);
  if (initial)
    for (std::string &note : initial->notes())
      notes.push_back(std::move(note));
  checkPaths(options, training, evaluation, prediction);
  checkWritable(options);
  if (rank.value_or(0) == 0)
    checkNoLog(options);
  resumed = openNewest(program, options, rank);
  if (resumed) {
    if (options.trains) {
      for (std::string &note : compareRuns(resumed->manifest(),
                                           describeRun(*this), resumed->path()))
        notes.push_back(std::move(note));
      if (std::string note = BestEvaluation::describeChange(*this);
          !note.empty())
        notes.push_back(note);
    }
    notes.insert(notes.begin(),
                 fmt::format("{} {} after step {}",
                             options.trains ? "resumed from" : "parameters of",
                             resumed->path(), resumed->manifest().step));
  } else if (options.resume) {
    if (!options.trains)
      throw Error("--resume: no checkpoint in {} to take parameters from",
                  options.checkpoint);
    notes.push_back(fmt::format("no checkpoint in {}: starts with step 1",
                                options.checkpoint));
  }
  if (exportedBuffers.size() < buffers.size())
    notes.push_back(fmt::format(
        "--export-map names parameters alone: the model's {} buffer{} will not "
        "be in {}",
        buffers.size(), buffers.size() == 1 ? "" : "s", options.exportTo));
}

} // namespace ppopt::train
