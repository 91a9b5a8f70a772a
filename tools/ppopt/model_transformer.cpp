//===- model_transformer.cpp - `ppopt model llama` and its relatives ------===//

#include "commands.h"
#include "transformer.h"
#include "write_file.h"

#include "ppopt/Support/ReadFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace ppopt;

namespace {

struct FamilyFlags {
  std::string output = "-", preset, config, type = "f32";
  std::optional<int64_t> layers, width, heads, keyHeads, headWidth, mlpWidth,
      vocabulary, length, batch, window, ignoreIndex, experts, expertsPerToken,
      positions;
  std::optional<double> dropout, attentionDropout, capacity;
  bool tied = false, untied = false, packed = false;
};

} // namespace

/// Declares a flag of a number from `least` to below `bound`.
static void declareNumber(CommandLine &line, StringRef name, StringRef kind,
                          std::optional<double> &into, StringRef help,
                          double least, double bound, StringRef range) {
  line.value(
      name, kind, help,
      [&into, least, bound, range](StringRef value) -> std::string {
        if (!value.getAsDouble(into.emplace()) && *into >= least &&
            *into < bound)
          return "";
        return ("must be a number " + range + ", not '" + value + "'").str();
      });
}

static void declare(CommandLine &line, FamilyFlags &flags, Family family) {
  bool isBert = family == Family::bert;
  line.output("o", flags.output, "output file; - is standard output");
  line.endGroup();
  Words names;
  for (const TransformerPreset &preset : presetsOf(family))
    names.values.push_back(preset.name);
  flags.preset = names.values.front().str();
  line.choice("preset", "NAME", names, flags.preset,
              "initial sizes; the flags below override them");
  line.text("config", "FILE", flags.config,
            "take the sizes from a config.json of Hugging Face's transformers "
            "in place of a preset");
  line.count("layers", flags.layers, "transformer blocks");
  line.count("width", flags.width, "size of the residual stream");
  line.count("heads", flags.heads, "attention heads");
  if (!isBert) {
    line.count("kv-heads", flags.keyHeads,
               "heads of keys and values; must divide the heads");
    line.count("head-width", flags.headWidth,
               "size of a head (default: the width by the heads, if either is "
               "given)");
  }
  line.count("mlp-width", flags.mlpWidth, "hidden size of each MLP");
  if (family == Family::mixtral) {
    line.count("experts", flags.experts, "experts of each MLP");
    line.count("experts-per-token", flags.expertsPerToken,
               "experts that compute each token");
    declareNumber(line, "capacity", "X", flags.capacity,
                  "tokens of a row that an expert has room for, as a multiple "
                  "of what an even spread gives it (default 1.25); further "
                  "ones are dropped",
                  1e-9, 1e9, "above 0");
  }
  line.count("vocab", flags.vocabulary,
             "vocabulary size; token ids are 0 to N-1");
  line.count("seq", flags.length, "tokens per row");
  if (isBert)
    line.count("positions", flags.positions,
               "rows of the table of positions; at least the tokens per row");
  line.count("batch", flags.batch, "rows of the global batch");
  line.choice("dtype", "TYPE", {{"f32", "f64"}}, flags.type,
              "floating-point type");
  if (family == Family::mistral || family == Family::qwen)
    line.count("window", flags.window,
               "how many positions a position sees, itself included");
  if (isBert)
    declareNumber(line, "dropout", "P", flags.dropout,
                  "dropout of the embeddings and of each attention's and MLP's "
                  "output",
                  0, 1, "from 0 to below 1");
  declareNumber(line, "attention-dropout", "P", flags.attentionDropout,
                "dropout of the attention's probabilities", 0, 1,
                "from 0 to below 1");
  if (!isBert) {
    line.toggle("tied", flags.tied, "use the token embedding as the head");
    line.toggle("untied", flags.untied,
                "give the head its own parameter, lm_head.weight");
    line.toggle(
        "packed", flags.packed,
        "rows hold several documents: the inputs segments and positions "
        "have each token's document, and its position there");
  }
  line.value("ignore-index", "ID",
             isBert ? "exclude targets with this id from the loss (default "
                      "-100)"
                    : "exclude targets with this id from the loss (default "
                      "with --packed: -100)",
             [&flags](StringRef value) -> std::string {
               if (!value.getAsInteger(10, flags.ignoreIndex.emplace()))
                 return "";
               return ("must be a whole number, not '" + value + "'").str();
             });
}

/// Takes sizes from --config. Returns the exit status of an error.
static std::optional<int> readConfig(const Command &command,
                                     const FamilyFlags &flags,
                                     Transformer &model) {
  auto file = readTextFile(flags.config);
  if (!file)
    return fail(command, "--config " + Twine(flags.config) + ": " +
                             toString(file.takeError()));
  bool isBert = model.family == Family::bert;
  Transformer read;
  read.family = model.family;
  read.length = isBert ? 512 : 1024;
  read.batch = isBert ? 8 : 4;
  if (isBert)
    read.ignoreIndex = -100;
  std::string problems = readTransformerConfig((*file)->getBuffer(), read);
  if (!problems.empty()) {
    std::string lines;
    for (StringRef each : split(problems, '\n'))
      lines += ("\n  " + each).str();
    return fail(command, "--config " + Twine(flags.config) +
                             ": cannot be written as a model:" + lines);
  }
  model = read;
  return std::nullopt;
}

/// The sizes that flags give in place of the preset's.
static void takeSizes(const FamilyFlags &flags, Transformer &model) {
  auto take = [](auto &into, const auto &from) {
    if (from)
      into = *from;
  };
  take(model.layers, flags.layers);
  take(model.width, flags.width);
  take(model.heads, flags.heads);
  take(model.keyHeads, flags.keyHeads);
  if (model.family == Family::bert)
    model.keyHeads = model.heads;
  if (model.family == Family::bert || flags.width || flags.heads)
    model.headWidth = model.width / model.heads;
  take(model.headWidth, flags.headWidth);
  take(model.mlpWidth, flags.mlpWidth);
  take(model.vocabulary, flags.vocabulary);
  take(model.length, flags.length);
  take(model.positions, flags.positions);
  take(model.batch, flags.batch);
  take(model.dropout, flags.dropout);
  take(model.attentionDropout, flags.attentionDropout);
  take(model.experts, flags.experts);
  take(model.expertsPerToken, flags.expertsPerToken);
  take(model.capacity, flags.capacity);
  if (flags.window)
    model.window = flags.window;
  model.packed = flags.packed;
  if (flags.packed)
    model.ignoreIndex = -100;
  if (flags.ignoreIndex)
    model.ignoreIndex = flags.ignoreIndex;
  if (flags.tied || flags.untied)
    model.tied = flags.tied;
  model.type = flags.type;
}

static int runFamily(CommandLine &line, Family family) {
  const Command &command = line.command;
  FamilyFlags flags;
  declare(line, flags, family);
  if (std::optional<int> status = line.parse())
    return *status;
  if (line.has("preset") && line.has("config"))
    return failUsage(command, "--preset and --config exclude each other");
  if (flags.tied && flags.untied)
    return failUsage(command, "--tied and --untied exclude each other");
  Transformer model = find_if(presetsOf(family), [&](const auto &preset) {
                        return preset.name == flags.preset;
                      })->model;
  if (!flags.config.empty())
    if (std::optional<int> status = readConfig(command, flags, model))
      return *status;
  takeSizes(flags, model);
  model.command = line.getLine();
  std::string wrong = checkTransformer(model);
  if (!wrong.empty())
    return failUsage(command, wrong);
  return failed(writeFile(command, flags.output, writeTransformer(model)));
}

template <Family family>
static int run(CommandLine &line, const mlir::pp::CompilationSetup &) {
  return runFamily(line, family);
}

const Command ppopt::modelLlamaCommand = {
    "model llama", "writes a Llama", "",
    R"(Writes a model file with Llama's architecture: blocks of RMS norm, causal
attention with rotary embeddings and fewer heads of keys and values than of
queries, RMS norm and a gated MLP with SiLU; a final RMS norm; a head, tied to
the token embedding or not; mean cross entropy. Parameters have the names and
the layouts of Hugging Face's checkpoints, so that the executable's --init takes
such a folder as it is. Weights are annotated for the mesh axis tp.

  ppopt model llama --preset 1b --seq 2048 -o llama.mlir
  ppopt model llama --config Llama-3.2-1B/config.json --packed -o llama.mlir
)",
    run<Family::llama>};

const Command ppopt::modelQwenCommand = {
    "model qwen", "writes a Qwen 2, 2.5 or 3", "",
    R"(Writes a model file with Qwen's architecture: Llama's ('ppopt model llama
--help'), in Qwen 2 and 2.5 with biases of queries, keys and values, in Qwen 3
with an RMS norm of each head's query and key.

  ppopt model qwen --preset 2.5-0.5b -o qwen.mlir
)",
    run<Family::qwen>};

const Command ppopt::modelMistralCommand = {
    "model mistral", "writes a Mistral", "",
    R"(Writes a model file with Mistral's architecture: Llama's ('ppopt model llama
--help') with a window, outside of which attention sees nothing.

  ppopt model mistral --preset 7b --seq 8192 -o mistral.mlir
)",
    run<Family::mistral>};

const Command ppopt::modelMixtralCommand = {
    "model mixtral", "writes a Mixtral", "",
    R"(Writes a model file with Mixtral's architecture: Llama's ('ppopt model llama
--help') with several MLPs, the experts, of which a router picks some for each
token. The experts of a layer are one parameter: the map mixtral.json has their
names in Hugging Face's checkpoints.

  ppopt model mixtral --preset 8x7b --capacity 2 -o mixtral.mlir
)",
    run<Family::mixtral>};

const Command ppopt::modelBertCommand = {
    "model bert", "writes a BERT", "",
    R"(Writes a model file with BERT's architecture and its loss of masked tokens:
embeddings of tokens, positions and token types; blocks of attention and an MLP
with GELU, each followed by a layer norm; a transform and a head tied to the
token embedding; mean cross entropy over the targets that are not -100. Its
inputs are tokens, token_types, attention_mask (0: padding) and targets.

  ppopt model bert --preset base --seq 128 -o bert.mlir
)",
    run<Family::bert>};
