//===- model.cpp - `ppopt model`: writes model files ----------------------===//

#include "commands.h"
#include "model_text.h"
#include "write_file.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace ppopt;

static void addOutput(CommandLine &line, std::string &into) {
  line.output("o", into, "output file; - is standard output");
  line.endGroup();
}

static void addType(CommandLine &line, std::string &into) {
  line.choice("dtype", "TYPE", {{"f32", "f64"}}, into, "floating-point type");
}

//===----------------------------------------------------------------------===//
// gpt
//===----------------------------------------------------------------------===//

namespace {
struct Preset {
  StringRef name;
  int64_t layers, width, heads, vocabulary, length, batch;
};
} // namespace

// GPT-2's sizes are those of the published models. byte-gpt reads bytes and
// learns in minutes on two cores.
static constexpr Preset presets[] = {
    {"byte-gpt", 4, 128, 4, 256, 128, 16},
    {"gpt2-124m", 12, 768, 12, 50257, 1024, 4},
    {"gpt2-355m", 24, 1024, 16, 50257, 1024, 4},
    {"gpt2-774m", 36, 1280, 20, 50257, 1024, 4},
    {"gpt2-1.5b", 48, 1600, 25, 50257, 1024, 4},
};
namespace {
struct GptFlags {
  std::string output = "-", preset = "byte-gpt", gelu = "tanh", type = "f32";
  std::optional<int64_t> layers, width, heads, mlpWidth, vocabulary, length,
      batch, ignoreIndex;
  double dropout = 0, attentionDropout = 0;
  bool tied = false, untied = false, noAttention = false;
  std::optional<int64_t> loraRank;
  std::optional<double> loraAlpha;
};
} // namespace

static void declare(CommandLine &line, GptFlags &flags) {
  addOutput(line, flags.output);
  Words names;
  for (const Preset &preset : presets)
    names.values.push_back(preset.name);
  line.choice("preset", "NAME", names, flags.preset,
              "initial sizes; the flags below override them");
  line.count("layers", flags.layers, "transformer blocks");
  line.count("width", flags.width, "size of the residual stream");
  line.count("heads", flags.heads, "attention heads; must divide the width");
  line.count("mlp-width", flags.mlpWidth,
             "hidden size of each MLP (default: four times the width)");
  line.choice("gelu", "FORM", {{"tanh", "exact"}}, flags.gelu,
              "form of GELU: the tanh approximation, as in GPT-2, or exact, "
              "with erf");
  line.count("vocab", flags.vocabulary,
             "vocabulary size; token ids are 0 to N-1");
  line.count("seq", flags.length, "tokens per row");
  line.count("batch", flags.batch, "rows of the global batch");
  addType(line, flags.type);
  auto declareDropout = [&](StringRef name, double &into, StringRef help) {
    line.value(name, "P", help, [&into](StringRef value) -> std::string {
      if (!value.getAsDouble(into) && into >= 0 && into < 1)
        return "";
      return ("must be a number from 0 to below 1, not '" + value + "'").str();
    });
  };
  declareDropout("dropout", flags.dropout,
                 "dropout of the embeddings and of each attention's and MLP's "
                 "output (default 0)");
  declareDropout(
      "attention-dropout", flags.attentionDropout,
      "dropout of the attention's probabilities, which are in memory "
      "then (default 0)");
  line.toggle("tied", flags.tied,
              "use the token embedding as the head (the default)");
  line.toggle("untied", flags.untied,
              "give the head its own parameter, lm_head.weight");
  line.toggle("no-attention", flags.noAttention,
              "multiply the attention's output by zero, as a control for "
              "experiments");
  line.count("lora-rank", flags.loraRank,
             "freeze everything, and train LoRA's adapters of this rank on "
             "the projection of queries, keys and values");
  line.value("lora-alpha", "X",
             "with --lora-rank: adapters are scaled by X / rank (default: the "
             "rank)",
             [&flags](StringRef value) -> std::string {
               if (!value.getAsDouble(flags.loraAlpha.emplace()) &&
                   std::isfinite(*flags.loraAlpha))
                 return "";
               return ("must be a finite number, not '" + value + "'").str();
             });
  line.value("ignore-index", "ID", "exclude targets with this id from the loss",
             [&flags](StringRef value) -> std::string {
               if (!value.getAsInteger(10, flags.ignoreIndex.emplace()))
                 return "";
               return ("must be a whole number, not '" + value + "'").str();
             });
}

static int runGpt(CommandLine &line, const mlir::pp::CompilationSetup &) {
  GptFlags flags;
  declare(line, flags);
  if (std::optional<int> status = line.parse())
    return *status;
  const Preset *preset = llvm::find_if(presets, [&](const Preset &candidate) {
    return candidate.name == flags.preset;
  });
  GptModel model;
  model.layers = flags.layers.value_or(preset->layers);
  model.width = flags.width.value_or(preset->width);
  model.heads = flags.heads.value_or(preset->heads);
  model.vocabulary = flags.vocabulary.value_or(preset->vocabulary);
  model.mlpWidth = flags.mlpWidth.value_or(4 * model.width);
  model.exactGelu = flags.gelu == "exact";
  model.length = flags.length.value_or(preset->length);
  model.batch = flags.batch.value_or(preset->batch);
  model.type = flags.type;
  model.dropout = flags.dropout;
  model.attentionDropout = flags.attentionDropout;
  model.tied = !flags.untied;
  model.attends = !flags.noAttention;
  model.ignoreIndex = flags.ignoreIndex;
  model.loraRank = flags.loraRank.value_or(0);
  model.loraAlpha = flags.loraAlpha.value_or(double(model.loraRank));
  model.command = line.getLine();

  if (flags.tied && flags.untied)
    return failUsage(modelGptCommand, "--tied and --untied exclude each other");
  if (flags.loraAlpha && !flags.loraRank)
    return failUsage(modelGptCommand, "--lora-alpha goes with --lora-rank");
  if (model.loraRank > model.width)
    return failUsage(modelGptCommand, "--lora-rank: at most the width");
  if (model.width % model.heads != 0)
    return failUsage(modelGptCommand, "--width " + Twine(model.width) +
                                          " does not divide by --heads " +
                                          Twine(model.heads));
  if (model.vocabulary > INT32_MAX)
    return failUsage(modelGptCommand, "--vocab: token ids have 32 bits");
  if (model.ignoreIndex &&
      (*model.ignoreIndex > INT32_MAX || *model.ignoreIndex < INT32_MIN))
    return failUsage(modelGptCommand, "--ignore-index: token ids have 32 bits");
  // Far more than any machine can hold, and far from overflow.
  constexpr double limit = 1e13;
  if (double(model.layers) * model.width * model.width > limit ||
      double(model.layers) * model.width * model.mlpWidth > limit ||
      double(model.batch) * model.length * model.mlpWidth > limit ||
      double(model.vocabulary) * model.width > limit ||
      double(model.batch) * model.length * model.width > limit)
    return failUsage(modelGptCommand,
                     "these sizes make more than 10^13 numbers");
  if (model.layers > 10000)
    return failUsage(modelGptCommand, "--layers: at most 10000");
  return failed(writeFile(modelGptCommand, flags.output, writeGpt(model)));
}

const Command ppopt::modelGptCommand = {
    "model gpt", "writes a GPT", "",
    R"(Writes a model file with GPT-2's architecture: token and position embeddings;
blocks of layer norm, causal attention with fused queries, keys and values,
layer norm and an MLP with GELU; a final layer norm; a head tied to the token
embedding; mean cross entropy. Matrices are initialized from a normal
distribution with standard deviation 0.02 (0.02/sqrt(2 layers) for those that
write to the residual stream). Weight decay applies to matrices, not to biases
and layer norms. Weights have the layout [inputs, outputs]. To load GPT-2
checkpoints from Hugging Face, use the executable's --init-map.

  ppopt model gpt --preset gpt2-124m --seq 256 -o gpt2.mlir
  ppopt model gpt --layers 6 --width 384 --heads 6 -o small.mlir
)",
    runGpt};

//===----------------------------------------------------------------------===//
// mlp
//===----------------------------------------------------------------------===//

/// Reads "16,64,4". Returns what is wrong, empty if nothing.
static std::string readWidths(StringRef value, std::vector<int64_t> &widths) {
  widths.clear();
  for (StringRef part : split(value, ','))
    if (part.getAsInteger(10, widths.emplace_back()) || widths.back() < 1)
      return ("must be whole numbers of at least 1, separated by commas, e.g. "
              "64,128,10, not '" +
              value + "'")
          .str();
  return "";
}

static int runMlp(CommandLine &line, const mlir::pp::CompilationSetup &) {
  std::string output = "-";
  MlpModel model;
  model.widths = {16, 64, 64, 4};
  model.activation = "relu";
  model.type = "f32";
  model.batch = 32;
  addOutput(line, output);
  line.value("widths", "N,N,…",
             "layer sizes, from the input to the output (default 16,64,64,4)",
             [&](StringRef value) { return readWidths(value, model.widths); });
  line.choice("activation", "NAME", {{"relu", "gelu", "tanh"}},
              model.activation, "activation after each layer but the last");
  line.count("batch", model.batch, "rows of the global batch");
  addType(line, model.type);
  if (std::optional<int> status = line.parse())
    return *status;
  for (int64_t width : model.widths)
    if (width > 1000000)
      return failUsage(modelMlpCommand, "--widths: at most 1000000 each");
  if (model.widths.size() < 2)
    return failUsage(modelMlpCommand,
                     "--widths: at least an input and an output, "
                     "e.g. 16,4");
  if (model.batch > 1000000000)
    return failUsage(modelMlpCommand, "--batch: at most 10^9");
  model.command = line.getLine();
  return failed(writeFile(modelMlpCommand, output, writeMlp(model)));
}

const Command ppopt::modelMlpCommand = {
    "model mlp", "writes a multi-layer perceptron", "",
    R"(Writes a model file with a multi-layer perceptron with biases. Its input is "x"
and its target "y" (mean squared error). Weights are initialized from a normal
distribution with standard deviation 1/sqrt(inputs). The executable reads
samples with --inputs.

  ppopt model mlp --widths 64,256,256,10 --activation gelu -o mlp.mlir
)",
    runMlp};
