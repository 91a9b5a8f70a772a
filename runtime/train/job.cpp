//===- job.cpp - What the ranks of a process share ------------------------===//

#include "train/job.h"

#include "core/error.h"
#include "train/resume.h"
#include "train/run_record.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace ppopt::train {
namespace {

using runtime::Program;

constexpr int64_t kDefaultEvalBatches = 8;

/// Throws where the samples do not fill one batch.
void checkFillsBatch(const Program &program, const SampleReader &reader,
                     const char *flag) {
  const runtime::Plan &plan = program.plan;
  auto count = static_cast<int64_t>(
      std::min<uint64_t>(reader.count(), static_cast<uint64_t>(INT64_MAX)));
  if (count >= plan.batch)
    return;
  // Each data-parallel rank cuts its rows into as many microbatches.
  int64_t tiles = plan.axisSize("dp") * plan.microbatches;
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

std::optional<Sampler> openTraining(const Program &program,
                                    const Options &options) {
  std::shared_ptr<SampleReader> reader;
  if (!options.data.empty())
    reader = makeTokenReader(program, options.data, options.tokens, "--data");
  else if (!options.inputs.empty())
    reader = makeTensorReader(program, options.inputs, "--inputs");
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

/// Batches of an evaluation; throws where the samples do not fill them.
int64_t chooseEvalBatches(const Program &program, const Options &options,
                          const SampleReader &reader, const char *flag) {
  int64_t batch = program.plan.batch;
  checkFillsBatch(program, reader, flag);
  int64_t full = static_cast<int64_t>(
      std::min<uint64_t>(reader.count() / batch, INT64_MAX));
  if (options.evalBatches > full)
    throw Error("--eval-batches {}: {} has {} {}, enough for {} batches of {}",
                options.evalBatches, flag, reader.count(), reader.unit(), full,
                batch);
  return options.evalBatches > 0 ? options.evalBatches
                                 : std::min(full, kDefaultEvalBatches);
}

/// A run must not end, hours later, in a file that cannot be written.
void checkWritable(const char *flag, const std::string &path) {
  if (path.empty())
    return;
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder, error))
    throw Error("{} {}: there is no folder {}", flag, path, folder.string());
  if (fs::is_directory(path, error))
    throw Error("{} {}: is a folder", flag, path);
  if (::access(folder.c_str(), W_OK) != 0)
    throw Error("{} {}: cannot write to {}: {}", flag, path, folder.string(),
                std::strerror(errno));
}

} // namespace

Job::Job(const Program &program, const Options &options,
         std::optional<int64_t> place)
    : program(program), options(options),
      training(openTraining(program, options)) {
  checkWritable("--log", options.log);
  checkWritable("--export", options.exportTo);
  checkWritable("--dump-gradients", options.dumpGradients);
  checkWritable("--trace", options.trace);
  bool tokens = !options.evalData.empty();
  if (tokens || !options.evalInputs.empty()) {
    const char *flag = tokens ? "--eval-data" : "--eval-inputs";
    std::shared_ptr<SampleReader> reader =
        tokens
            ? makeTokenReader(program, options.evalData, options.tokens, flag)
            : makeTensorReader(program, options.evalInputs, flag);
    evalBatches = chooseEvalBatches(program, options, *reader, flag);
    auto order = std::make_unique<SpacedOrder>(
        reader->count(),
        static_cast<uint64_t>(evalBatches * program.plan.batch));
    evaluation.emplace(program, std::move(reader), std::move(order));
  }
  exported = options.exportMap.empty()
                 ? ownTensors(program)
                 : ParameterMap::read(options.exportMap).tensorsOf(program);
  if (!options.initMap.empty())
    initial = std::make_unique<InitialParameters>(
        program, options.init, ParameterMap::read(options.initMap));
  else if (!options.init.empty())
    initial = std::make_unique<InitialParameters>(program, options.init);
  resumed = openNewest(program, options, place);
  if (resumed) {
    if (!options.onlyGenerates)
      notes =
          compareRuns(resumed->manifest(), describeRun(*this), resumed->path());
    notes.insert(
        notes.begin(),
        fmt::format("{} {} after step {}",
                    options.onlyGenerates ? "parameters of" : "resumed from",
                    resumed->path(), resumed->manifest().step));
  } else if (options.resume) {
    if (options.onlyGenerates)
      throw Error("--resume: no checkpoint in {} to generate from",
                  options.checkpoint);
    notes.push_back(fmt::format("no checkpoint in {}: starts with step 1",
                                options.checkpoint));
  }
}

} // namespace ppopt::train
