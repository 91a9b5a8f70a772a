//===- generate.cpp - Generates text with a trained model -----------------===//

#include "generate/generate.h"

#include "base/error.h"
#include "base/printed_output.h"
#include "base/stop_signals.h"
#include "base/stopwatch.h"
#include "base/usage_error.h"
#include "checkpoint/parameter_file.h"
#include "device/host_access.h"
#include "executor/executor.h"
#include "executor/non_finite_step.h"
#include "executor/rank.h"
#include "generate/bpe_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace ppopt::train {
namespace {

using runtime::ElementType;
using runtime::Generation;
using runtime::Parameter;
using runtime::Program;

Program parseProgram(const runtime::StoredDocument &stored) {
  runtime::GenerationDocument document = runtime::readGeneration(stored);
  if (!document.program)
    throw Error("--generate: {}", document.refused);
  return std::move(*document.program);
}

/// Checks that both programs have the same parameters, which are passed by
/// index.
void checkParameters(const Program &generates, const Program &trained) {
  auto same = [](const Parameter &a, const Parameter &b) {
    return a.name == b.name && a.shape == b.globalShape() && a.type == b.type;
  };
  if (!std::equal(generates.parameters.begin(), generates.parameters.end(),
                  trained.parameters.begin(), trained.parameters.end(), same))
    throw Error("program: the one that generates has other parameters than the "
                "one that trains; compile the model again");
}

std::unique_ptr<Tokenizer> openTokenizer(const Options &options,
                                         int64_t vocabulary) {
  if (options.tokenizer.empty()) {
    if (vocabulary > 256)
      throw Error("--generate: the model has {} tokens, more than there are "
                  "bytes: give --tokenizer FOLDER with its vocab.json and "
                  "merges.txt",
                  vocabulary);
    return std::make_unique<ByteTokenizer>();
  }
  auto tokenizer = std::make_unique<BpeTokenizer>(options.tokenizer);
  if (tokenizer->size() > vocabulary)
    throw Error("--tokenizer {}: has {} tokens, and the model {}: it was "
                "trained with another",
                options.tokenizer, tokenizer->size(), vocabulary);
  return tokenizer;
}

std::vector<int32_t> encodePrompt(const Tokenizer &tokenizer,
                                  const std::string &text,
                                  const Generation &model) {
  std::vector<int32_t> tokens;
  try {
    tokens = text.empty() ? std::vector<int32_t>{tokenizer.first()}
                          : tokenizer.encode(text);
  } catch (const Error &error) {
    throw Error("--prompt: {}", error.what());
  }
  for (int32_t token : tokens)
    if (token >= model.vocabulary)
      throw Error("--prompt: {} is token {}, and the model has {} tokens{}",
                  text.empty() ? "the new line that an empty prompt stands for"
                               : fmt::format("a byte of '{}'", text),
                  token, model.vocabulary,
                  text.empty() ? ": give another" : "");
  if (int64_t(tokens.size()) > model.context)
    throw Error("--prompt: has {} tokens, and the model sees no more than {} "
                "before the next",
                tokens.size(), model.context);
  return tokens;
}

} // namespace

void checkHasWholeModel(const Program &trained) {
  auto isPart = [](const runtime::PlaceParameter &held) {
    return held.shards(schema::ShardOf::parameters);
  };
  for (const runtime::Place &place : trained.places) {
    auto part =
        std::find_if(place.parameters.begin(), place.parameters.end(), isPart);
    if (part == place.parameters.end())
      continue;
    if (trained.plan.isAsynchronous())
      throw UsageError(
          "--generate: compiled with --sync {}, so each rank has a part of the "
          "parameters: save a checkpoint with --checkpoint FOLDER, and "
          "generate with an executable that is compiled with --sync step, by "
          "--init FOLDER/step-...",
          spell(trained.plan.sync));
    throw UsageError(
        "--generate: compiled with --zero 3, so no rank has the model, but a "
        "part of parameter '{}' and others: save a checkpoint with "
        "--checkpoint FOLDER, and generate with an executable that is compiled "
        "without --zero 3, by --init FOLDER/step-...",
        trained.parameters[part->parameter].name);
  }
}

GenerationJob::GenerationJob(const StoredProgram &stored,
                             const Program &trained, const Options &options)
    : program(parseProgram(stored.document)), tasks(stored.tasks),
      code(stored.code),
      tokenizer(openTokenizer(options, program.generation->vocabulary)),
      prompt(encodePrompt(*tokenizer, options.prompt, *program.generation)),
      shownPrompt(options.prompt), count(options.generate),
      choice{options.temperature, options.topK, options.seed} {
  checkParameters(program, trained);
}

namespace {

/// Feeds a text to the model, token by token.
class TextReader {
public:
  TextReader(const GenerationJob &job, const runtime::RankOptions &options)
      : program_(job.program), model_(*job.program.generation),
        scored_(std::min(model_.vocabulary, job.tokenizer->size())),
        rank_(job.program, job.tasks, /*transport=*/nullptr, options) {}

  const ppopt_rank &rank() const { return rank_; }

  /// Adds a token. If the context is full, the model continues as if the text
  /// had begun with the last half of it.
  void read(int32_t token) {
    if (int64_t(context_.size()) == model_.context) {
      std::vector<int32_t> half(context_.end() - model_.context / 2,
                                context_.end());
      context_.clear();
      for (int32_t earlier : half)
        run(earlier);
    }
    run(token);
  }

  /// Returns the scores of the next token, only for tokens of the tokenizer.
  const std::vector<double> &scores() {
    if (model_.logits.type == ElementType::f64)
      copyScores<double>();
    else
      copyScores<float>();
    return scores_;
  }

private:
  void run(int32_t token) {
    auto position = static_cast<int64_t>(context_.size());
    write(model_.position.address, position);
    if (model_.token.type == ElementType::i64)
      write(model_.token.address, int64_t{token});
    else
      write(model_.token.address, token);
    runtime::runEvaluation(rank_, {}, {});
    runtime::NonFiniteFindings noted = runtime::findBadIds(rank_).front();
    if (noted.hasBadId())
      throw Error("--generate: after {} tokens the model computes an id: {}",
                  position, runtime::describeBadId(program_, noted));
    context_.push_back(token);
  }

  template <typename Number>
  void write(const runtime::Address &address, Number number) {
    device::write(*rank_.device, rank_.compute, rank_.places.at(address),
                  number);
  }

  template <typename Float> void copyScores() {
    std::vector<Float> logits(scored_);
    rank_.device->copyOut(rank_.compute, logits.data(),
                          rank_.places.at(model_.logits.address),
                          scored_ * int64_t(sizeof(Float)));
    rank_.device->synchronize(rank_.compute);
    scores_.assign(logits.begin(), logits.end());
  }

  const Program &program_;
  const Generation &model_;
  const int64_t scored_;
  ppopt_rank rank_;
  std::vector<int32_t> context_; ///< the tokens at the positions 0, 1, ...
  std::vector<double> scores_;
};

/// Prints to standard output, which has only the text.
void show(const std::string &text) { printOutput(text); }

int generate(const GenerationJob &job, TextReader &reader) {
  TokenChoice choice(job.choice);
  WholeCharacters characters;
  Stopwatch reading;
  for (int32_t token : job.prompt)
    reader.read(token);
  double readSeconds = reading.seconds();

  show(job.shownPrompt);
  Stopwatch writing;
  int64_t done = 0;
  int signal = 0;
  while (done < job.count && (signal = StopSignals::noted()) == 0) {
    int32_t token = choice.choose(reader.scores(), job.prompt.size() + done);
    show(characters.add(job.tokenizer->decode(token)));
    if (++done < job.count)
      reader.read(token);
  }
  double seconds = writing.seconds();
  show(characters.finish() + "\n");
  std::string summary = fmt::format(
      "generated {} token{} in {:.2f} s | {:.1f} tok/s | after {} of the "
      "prompt in {:.2f} s{}\n",
      done, done == 1 ? "" : "s", seconds,
      double(done) / std::max(seconds, 1e-9), job.prompt.size(), readSeconds,
      signal ? " | stopped by " + signalName(signal) : "");
  std::fwrite(summary.data(), 1, summary.size(), stderr);
  return signal ? stopStatus(signal) : 0;
}

} // namespace

/// Generates on the device of the rank that trained.
static runtime::RankOptions generationOptions(const ppopt_rank &trained,
                                              const GenerationJob &job) {
  runtime::RankOptions options = trained.options;
  options.threads = static_cast<int>(job.program.plan.target.threads);
  options.code = job.code;
  return options;
}

int generateText(const ppopt_rank &trained, const GenerationJob &job) {
  std::optional<TextReader> reader;
  if (trained.index == 0)
    reader.emplace(job, generationOptions(trained, job));
  gatherParameters(trained, reader ? &reader->rank() : nullptr);
  // The other ranks now wait for rank 0 until the text is complete.
  if (trained.transport)
    trained.transport->activity().setTimeout(0);
  return reader ? generate(job, *reader) : 0;
}

} // namespace ppopt::train
