//===- run_record.cpp - The description of a run in a checkpoint ----------===//

#include "app/run_record.h"

#include "base/error.h"
#include "base/list_files.h"
#include "observe/describe.h"

#include <fmt/format.h>

namespace ppopt::train {
namespace {

/// Returns the shortest text that parses to the same number.
template <typename Number> std::string textOf(Number number) {
  return fmt::format("{}", number);
}

std::map<std::string, std::string> describeFlags(const Options &options) {
  const LearningRateSchedule &rate = options.learningRate;
  std::map<std::string, std::string> flags = {
      {"steps", textOf(options.steps)},
      {"lr", textOf(rate.peak)},
      {"min-lr", textOf(rate.least)},
      {"warmup", textOf(rate.warmup)},
      {"lr-schedule", learningRateShapes[static_cast<int>(rate.shape)]},
      {"lr-decay-steps", textOf(rate.decaySteps)},
      {"weight-decay", textOf(options.weightDecay)},
      {"betas", textOf(options.beta1) + "," + textOf(options.beta2)},
      {"eps", textOf(options.eps)},
      {"momentum", textOf(options.momentum)},
      {"clip", textOf(options.clip)},
      {"skip-nonfinite-steps", textOf(options.skipNonFiniteSteps)},
      {"seed", textOf(options.seed)}};
  if (options.averageDecay)
    flags["ema"] = textOf(*options.averageDecay);
  return flags;
}

std::map<std::string, std::string> describePlan(const Job &job) {
  const runtime::Plan &plan = job.program.plan;
  std::map<std::string, std::string> facts = {
      {"mesh", describeMesh(plan)},
      {"microbatches", textOf(plan.microbatches)},
      {"schedule", plan.schedule},
      {"threads", textOf(plan.target.threads)},
      {"cpu", plan.target.cpu},
      {"collectives", comm::nameOf(job.options.collectives)}};
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, ...)                    \
  facts[FLAG] = spell(plan.FIELD);
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, ...)                      \
  facts[FLAG] = textOf(plan.FIELD);
#define PLAN_NUMBER(FIELD, ...) facts[#FIELD] = textOf(plan.FIELD);
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, ...)                       \
  facts[FLAG] = textOf(plan.FIELD);
#include "schema/plan_options.def"
  return facts;
}

SampleRecord describeSamples(const Job &job) {
  SampleRecord samples;
  samples.batch = job.program.plan.batch;
  if (!job.training)
    return samples;
  samples.order = job.options.shuffle ? "shuffled" : "sequential";
  samples.format = job.options.data.empty()                    ? "tensors"
                   : job.options.tokens == TokenFormat::Uint16 ? "uint16"
                                                               : "bytes";
  samples.count = job.training->reader().count();
  samples.files = job.training->reader().files();
  return samples;
}

/// Returns how the samples of two runs differ, and what to do; empty if they do
/// not differ.
std::string differenceOf(const SampleRecord &saved, const SampleRecord &now) {
  auto differs = [](const char *what, const auto &then, const auto &today) {
    return fmt::format("{} {}, {} now", what, then, today);
  };
  if (saved.batch != now.batch)
    return differs("its batch was", saved.batch, now.batch);
  if (saved.format != now.format)
    return differs("its data were read as", saved.format, now.format);
  if (saved.order != now.order)
    return differs("its samples were", saved.order, now.order);
  if (saved.files.size() != now.files.size())
    return differs("the files of its data were", saved.files.size(),
                   now.files.size());
  for (size_t i = 0; i < saved.files.size(); ++i)
    if (saved.files[i].bytes != now.files[i].bytes)
      return fmt::format("its data file {} had {} bytes, {} has {}",
                         saved.files[i].path, saved.files[i].bytes,
                         now.files[i].path, now.files[i].bytes);
  if (saved.count != now.count)
    return differs("the number of its samples was", saved.count, now.count);
  return "";
}

/// Returns a note about files of the same size that were written since the
/// checkpoint: copied, or with other contents. Empty if there are none.
std::string describeRewritten(const SampleRecord &saved,
                              const SampleRecord &now) {
  std::vector<std::string> rewritten;
  for (size_t i = 0; i < saved.files.size(); ++i)
    if (saved.files[i].written != now.files[i].written)
      rewritten.push_back(now.files[i].path);
  if (rewritten.empty())
    return "";
  return fmt::format("resume: data files were written since: {}; their sizes "
                     "are the same, and so, it is taken, are their contents",
                     describePaths(rewritten));
}

void checkSteps(const Manifest &saved, const Manifest &now,
                const std::string &path) {
  int64_t steps = std::stoll(now.flags.at("steps"));
  if (saved.step > steps)
    throw Error("--resume: {} is of step {}, and --steps {} is the total of "
                "steps",
                path, saved.step, steps);
}

} // namespace

Manifest describeRun(const Job &job) {
  Manifest manifest;
  manifest.model = job.program.model;
  manifest.modelHash = job.program.modelHash;
  manifest.flags = describeFlags(job.options);
  manifest.plan = describePlan(job);
  manifest.samples = describeSamples(job);
  return manifest;
}

std::vector<std::string> compareRuns(const Manifest &saved, const Manifest &now,
                                     const std::string &path) {
  checkSteps(saved, now, path);
  std::string samples = differenceOf(saved.samples, now.samples);
  if (samples.empty() && saved.flags.at("seed") != now.flags.at("seed"))
    samples = fmt::format("its --seed was {}, {} now", saved.flags.at("seed"),
                          now.flags.at("seed"));
  if (!samples.empty())
    throw Error("--resume: {} cannot continue with other samples: {}; use "
                "the same samples, or start anew from its parameters with "
                "--init {} instead of --resume",
                path, samples, path);
  std::vector<std::string> notes;
  if (std::string note = describeRewritten(saved.samples, now.samples);
      !note.empty())
    notes.push_back(note);
  const std::string &schedule = now.flags.at("lr-schedule");
  bool decays = schedule != "constant" && schedule != "inverse-sqrt";
  for (const auto &[flag, value] : now.flags)
    if (auto then = saved.flags.find(flag);
        then != saved.flags.end() && then->second != value)
      notes.push_back(fmt::format(
          "resume: --{} was {}, is {}{}", flag, then->second, value,
          flag == "steps" && decays
              ? ": from here on the learning rate is that of the new total"
              : ""));
  for (const auto &[fact, value] : now.plan)
    if (auto then = saved.plan.find(fact);
        then != saved.plan.end() && then->second != value)
      notes.push_back(fmt::format("resume: the plan's {} was {}, is {}", fact,
                                  then->second, value));
  return notes;
}

} // namespace ppopt::train
