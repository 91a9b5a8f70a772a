//===- model.cpp - `ppopt model`: writes model files ----------------------===//

#include "commands.h"
#include "model_text.h"
#include "write_file.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace ppopt;

static constexpr StringRef types[] = {"f32", "f64"};
static constexpr StringRef activations[] = {"relu", "gelu", "tanh"};
static constexpr StringRef gelus[] = {"tanh", "exact"};

static constexpr Flag outputFlags[] = {
    {"o", ValueKind::Output, "FILE", "-", "output file; - is standard output"},
};

/// Writes `text` to the file of -o.
static int write(const Command &command, const Arguments &arguments,
                 const std::string &text) {
  return failed(writeFile(command, arguments.get("o"), text));
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
static constexpr StringRef presetNames[] = {presets[0].name, presets[1].name,
                                            presets[2].name, presets[3].name,
                                            presets[4].name};

static constexpr Flag gptFlags[] = {
    {"preset", ValueKind::Choice, "NAME", "byte-gpt",
     "initial sizes; the flags below override them", presetNames},
    {"layers", ValueKind::Count, "N", "", "transformer blocks"},
    {"width", ValueKind::Count, "N", "", "size of the residual stream"},
    {"heads", ValueKind::Count, "N", "",
     "attention heads; must divide the width"},
    {"mlp-width", ValueKind::Count, "N", "",
     "hidden size of each MLP (default: four times the width)"},
    {"gelu", ValueKind::Choice, "FORM", "tanh",
     "form of GELU: the tanh approximation, as in GPT-2, or exact, with erf",
     gelus},
    {"vocab", ValueKind::Count, "N", "",
     "vocabulary size; token ids are 0 to N-1"},
    {"seq", ValueKind::Count, "N", "", "tokens per row"},
    {"batch", ValueKind::Count, "N", "", "rows of the global batch"},
    {"dtype", ValueKind::Choice, "TYPE", "f32", "floating-point type", types},
    {"dropout", ValueKind::Probability, "P", "0",
     "dropout of the embeddings and of each attention's and MLP's output"},
    {"tied", ValueKind::Switch, "", "",
     "use the token embedding as the head (the default)"},
    {"untied", ValueKind::Switch, "", "",
     "give the head its own parameter, lm_head.weight"},
    {"no-attention", ValueKind::Switch, "", "",
     "multiply the attention's output by zero, as a control for experiments"},
    {"ignore-index", ValueKind::Integer, "ID", "",
     "exclude targets with this id from the loss"},
};

static int runGpt(const Arguments &arguments,
                  const mlir::pp::CompilationSetup &) {
  const Preset *preset = llvm::find_if(presets, [&](const Preset &candidate) {
    return candidate.name == arguments.get("preset");
  });
  auto size = [&](StringRef flag, int64_t fallback) {
    return arguments.has(flag) ? arguments.getInteger(flag) : fallback;
  };
  GptModel model;
  model.layers = size("layers", preset->layers);
  model.width = size("width", preset->width);
  model.heads = size("heads", preset->heads);
  model.vocabulary = size("vocab", preset->vocabulary);
  model.mlpWidth = size("mlp-width", 4 * model.width);
  model.exactGelu = arguments.get("gelu") == "exact";
  model.length = size("seq", preset->length);
  model.batch = size("batch", preset->batch);
  model.type = arguments.get("dtype").str();
  model.dropout = arguments.getReal("dropout");
  model.tied = !arguments.has("untied");
  model.attends = !arguments.has("no-attention");
  if (arguments.has("ignore-index"))
    model.ignoreIndex = arguments.getInteger("ignore-index");
  model.command = arguments.line;

  if (arguments.has("tied") && arguments.has("untied"))
    return failUsage(modelGptCommand, "--tied and --untied exclude each other");
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
  return write(modelGptCommand, arguments, writeGpt(model));
}

static const ArrayRef<Flag> gptGroups[] = {outputFlags, gptFlags};

const Command ppopt::modelGptCommand = {
    "model gpt",
    "writes a GPT",
    "",
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
    gptGroups,
    runGpt};

//===----------------------------------------------------------------------===//
// mlp
//===----------------------------------------------------------------------===//

static constexpr Flag mlpFlags[] = {
    {"widths", ValueKind::Counts, "N,N,…", "16,64,64,4",
     "layer sizes, from the input to the output"},
    {"activation", ValueKind::Choice, "NAME", "relu",
     "activation after each layer but the last", activations},
    {"batch", ValueKind::Count, "N", "32", "rows of the global batch"},
    {"dtype", ValueKind::Choice, "TYPE", "f32", "floating-point type", types},
};

static int runMlp(const Arguments &arguments,
                  const mlir::pp::CompilationSetup &) {
  MlpModel model;
  for (StringRef text : split(arguments.get("widths"), ',')) {
    int64_t width = 0;
    text.getAsInteger(10, width);
    if (width > 1000000)
      return failUsage(modelMlpCommand, "--widths: at most 1000000 each");
    model.widths.push_back(width);
  }
  if (model.widths.size() < 2)
    return failUsage(modelMlpCommand,
                     "--widths: at least an input and an output, "
                     "e.g. 16,4");
  model.batch = arguments.getInteger("batch");
  if (model.batch > 1000000000)
    return failUsage(modelMlpCommand, "--batch: at most 10^9");
  model.activation = arguments.get("activation").str();
  model.type = arguments.get("dtype").str();
  model.command = arguments.line;
  return write(modelMlpCommand, arguments, writeMlp(model));
}

static const ArrayRef<Flag> mlpGroups[] = {outputFlags, mlpFlags};

const Command ppopt::modelMlpCommand = {
    "model mlp",
    "writes a multi-layer perceptron",
    "",
    R"(Writes a model file with a multi-layer perceptron with biases. Its input is "x"
and its target "y" (mean squared error). Weights are initialized from a normal
distribution with standard deviation 1/sqrt(inputs). The executable reads
samples with --inputs.

  ppopt model mlp --widths 64,256,256,10 --activation gelu -o mlp.mlir
)",
    mlpGroups,
    runMlp};
