//===- transformer_config.cpp - Reads Hugging Face's config.json ----------===//

#include "transformer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using namespace ppopt;

/// Keys that change nothing that a training step computes.
static const StringSet<> &harmlessKeys() {
  static const StringSet<> keys = {
      // Names, versions, and how transformers runs the model.
      "architectures", "_name_or_path", "name_or_path", "transformers_version",
      "torch_dtype", "dtype", "use_cache", "return_dict", "output_attentions",
      "output_hidden_states", "gradient_checkpointing", "torchscript",
      "chunk_size_feed_forward", "_attn_implementation", "problem_type",
      "pretraining_tp",
      // Tokens, labels and text generation.
      "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
      "decoder_start_token_id", "id2label", "label2id", "task_specific_params",
      "finetuning_task", "tokenizer_class", "classifier_dropout",
      // With output_router_logits, which is refused.
      "router_aux_loss_coef"};
  return keys;
}

namespace {

/// Reads the fields of a document, each once, and collects what is wrong.
class ConfigReader {
public:
  ConfigReader(const json::Object &object, Transformer &model)
      : object(object), model(model) {}

  /// Returns what is wrong, all of it.
  std::string read() {
    readType();
    if (problems.empty()) {
      if (model.family == Family::bert)
        readBert();
      else
        readDecoder();
      refuseOthers();
    }
    return join(problems, "\n");
  }

private:
  /// What a document without a type could be is not known: each family has its
  /// own defaults.
  void readType() {
    StringRef type = text("model_type", "").value_or("");
    version = type;
    static const std::pair<StringRef, Family> types[] = {
        {"llama", Family::llama},     {"qwen2", Family::qwen},
        {"qwen3", Family::qwen},      {"mistral", Family::mistral},
        {"mixtral", Family::mixtral}, {"bert", Family::bert}};
    for (auto [name, family] : types) {
      if (name != type)
        continue;
      if (family != model.family)
        problem("model_type: '" + type + "' is written by 'ppopt model " +
                nameOf(family) + "'");
      return;
    }
    problem(type.empty()
                ? "model_type: is missing"
                : "model_type: '" + type +
                      "' is not one of llama, qwen2, qwen3, mistral, mixtral "
                      "and bert");
  }

  void readSizes() {
    model.layers = count("num_hidden_layers");
    model.width = count("hidden_size");
    model.mlpWidth = count("intermediate_size");
    model.vocabulary = count("vocab_size");
    model.heads = count("num_attention_heads");
    model.deviation = number("initializer_range", 0.02);
  }

  void readDecoder() {
    readSizes();
    bool isLlama = model.family == Family::llama;
    bool isQwen = model.family == Family::qwen;
    bool isQwen3 = version == "qwen3";
    model.keyHeads = isLlama ? count("num_key_value_heads", model.heads)
                             : count("num_key_value_heads");
    model.headWidth =
        count("head_dim",
              isQwen3 ? 128 : model.width / std::max<int64_t>(model.heads, 1));
    model.epsilon = number("rms_norm_eps", isLlama || isQwen ? 1e-6 : 1e-5);
    require("hidden_act", "silu");
    model.tied = flag("tie_word_embeddings", false);
    model.attentionDropout = probability("attention_dropout", 0);
    model.headNorms = isQwen3;
    model.projectionBiases = version == "qwen2";
    if (isLlama || isQwen3) {
      bool biases = flag("attention_bias", false);
      model.projectionBiases = model.outputBias = biases;
    }
    model.mlpBiases = isLlama && flag("mlp_bias", false);
    readRotary(model.family == Family::mixtral ? 1e6 : 1e4);
    readWindow();
    longest("max_position_embeddings", 0);
    model.experts = model.expertsPerToken = 0;
    if (model.family != Family::mixtral)
      return;
    model.experts = count("num_local_experts");
    model.expertsPerToken = count("num_experts_per_tok");
    if (flag("output_router_logits", false))
      problem("output_router_logits: true adds the router's loss, which is "
              "not written; set it to false");
    if (number("router_jitter_noise", 0) != 0)
      problem("router_jitter_noise: only 0 can be written");
  }

  void readWindow() {
    model.window = std::nullopt;
    bool isQwen = model.family == Family::qwen;
    std::optional<int64_t> window;
    if (model.family == Family::llama)
      return; // an unknown key there
    if (!isNull("sliding_window"))
      window = count("sliding_window");
    if (isQwen) {
      int64_t from = count("max_window_layers", 28, /*least=*/0);
      if (!flag("use_sliding_window", false) || from >= model.layers)
        window = std::nullopt;
      else if (window && from > 0)
        problem("max_window_layers: the layers differ in their attention; all "
                "or none can have the window");
    }
    if (const json::Array *types = list("layer_types")) {
      bool slides = any_of(*types, [](const json::Value &type) {
        return type.getAsString() == StringRef("sliding_attention");
      });
      if (!all_of(*types, [&](const json::Value &type) {
            return type.getAsString() ==
                   StringRef(slides ? "sliding_attention" : "full_attention");
          }))
        problem("layer_types: all layers must be 'full_attention', or all "
                "'sliding_attention'");
      if (!slides)
        window = std::nullopt;
    }
    model.window = window;
  }

  /// Where frequencies are: `rope_theta` and `rope_scaling`, or since
  /// transformers 5 `rope_parameters` with both.
  void readRotary(double base) {
    model.scaling = {};
    model.rotaryBase = number("rope_theta", base);
    for (StringRef name : {"rope_scaling", "rope_parameters"}) {
      if (isNull(name))
        continue;
      const json::Object *scaling = object.getObject(name);
      if (!scaling) {
        problem(name + ": is not an object");
        continue;
      }
      ConfigReader inner(*scaling, model);
      inner.readScaling();
      for (const std::string &each : inner.problems)
        problem(name + "." + each);
    }
    if (!(model.rotaryBase > 0))
      problem("rope_theta: must be positive");
  }

  void readScaling() {
    model.rotaryBase = number("rope_theta", model.rotaryBase);
    std::string key = object.get("rope_type") ? "rope_type" : "type";
    StringRef kind = text(key, "default").value_or("");
    used.insert("type");
    if (kind == "default") {
      // No other numbers count.
    } else if (kind == "linear") {
      model.scaling.kind = RotaryScaling::linear;
      model.scaling.factor = number("factor", std::nullopt);
    } else if (kind == "llama3") {
      model.scaling = {RotaryScaling::llama3, number("factor", std::nullopt),
                       number("low_freq_factor", std::nullopt),
                       number("high_freq_factor", std::nullopt),
                       count("original_max_position_embeddings")};
    } else {
      problem(key + ": '" + kind +
              "' is not one of default, linear and llama3");
      return;
    }
    if (number("partial_rotary_factor", 1) != 1)
      problem("partial_rotary_factor: only 1 can be written");
    refuseOthers();
  }

  void readBert() {
    readSizes();
    model.keyHeads = model.heads;
    model.headWidth = model.width / std::max<int64_t>(model.heads, 1);
    model.epsilon = number("layer_norm_eps", 1e-12);
    model.dropout = probability("hidden_dropout_prob", 0.1);
    model.attentionDropout = probability("attention_probs_dropout_prob", 0.1);
    model.positions = count("max_position_embeddings", 512);
    model.tokenTypes = count("type_vocab_size", 2);
    longest("max_position_embeddings", model.positions);
    StringRef activation = text("hidden_act", "gelu").value_or("");
    model.tanhGelu =
        activation == "gelu_new" || activation == "gelu_pytorch_tanh";
    if (!model.tanhGelu && activation != "gelu")
      problem("hidden_act: '" + activation +
              "' is not one of gelu, gelu_new and gelu_pytorch_tanh");
    require("position_embedding_type", "absolute");
    for (StringRef name : {"is_decoder", "add_cross_attention"})
      if (flag(name, false))
        problem(name + ": only false can be written");
    if (!flag("tie_word_embeddings", true))
      problem("tie_word_embeddings: only true can be written");
  }

  /// Rows are not longer than what the model was made for.
  void longest(StringRef name, int64_t positions) {
    positions = positions ? positions : count(name, model.length);
    model.length = std::min(model.length, positions);
  }

  /// A feature that is null or false is none.
  void refuseOthers() {
    std::vector<StringRef> unknown;
    for (const auto &[key, value] : object)
      if (!used.contains(key) && !harmlessKeys().contains(key) &&
          !value.getAsNull() && value.getAsBoolean() != false)
        unknown.push_back(key);
    sort(unknown);
    for (StringRef name : unknown)
      problem(name + ": is not known; remove it if it does not change what a "
                     "training step computes");
  }

  //===--------------------------------------------------------------------===//
  // Fields
  //===--------------------------------------------------------------------===//

  void problem(const Twine &text) { problems.push_back(text.str()); }

  bool isNull(StringRef name) {
    used.insert(name);
    const json::Value *value = object.get(name);
    return !value || value->getAsNull();
  }

  int64_t count(StringRef name, std::optional<int64_t> fallback = std::nullopt,
                int64_t least = 1) {
    if (isNull(name)) {
      if (!fallback)
        problem(name + ": is missing");
      return fallback.value_or(1);
    }
    std::optional<int64_t> value = object.getInteger(name);
    if (value && *value >= least)
      return *value;
    problem(name + ": must be a whole number of at least " + Twine(least));
    return 1;
  }

  double number(StringRef name, std::optional<double> fallback) {
    if (isNull(name)) {
      if (!fallback)
        problem(name + ": is missing");
      return fallback.value_or(1);
    }
    std::optional<double> value = object.getNumber(name);
    if (value && std::isfinite(*value) && *value >= 0)
      return *value;
    problem(name + ": must be a number of at least 0");
    return 1;
  }

  double probability(StringRef name, double fallback) {
    double value = number(name, fallback);
    if (value < 1)
      return value;
    problem(name + ": must be below 1");
    return fallback;
  }

  bool flag(StringRef name, bool fallback) {
    if (isNull(name))
      return fallback;
    if (std::optional<bool> value = object.getBoolean(name))
      return *value;
    problem(name + ": must be true or false");
    return fallback;
  }

  std::optional<StringRef> text(StringRef name, StringRef fallback) {
    if (isNull(name))
      return fallback;
    std::optional<StringRef> value = object.getString(name);
    if (!value)
      problem(name + ": must be a string");
    return value;
  }

  const json::Array *list(StringRef name) {
    if (isNull(name))
      return nullptr;
    const json::Array *value = object.getArray(name);
    if (!value)
      problem(name + ": must be a list");
    return value;
  }

  void require(StringRef name, StringRef only) {
    std::optional<StringRef> value = text(name, only);
    if (value && *value != only)
      problem(name + ": '" + *value + "' is not '" + only +
              "', the only one that can be written");
  }

  const json::Object &object;
  Transformer &model;
  StringRef version; ///< the document's model_type
  StringSet<> used;
  std::vector<std::string> problems;
};

} // namespace

std::string ppopt::readTransformerConfig(StringRef text, Transformer &model) {
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return "is not JSON: " + toString(value.takeError());
  const json::Object *object = value->getAsObject();
  if (!object)
    return "is not an object";
  return ConfigReader(*object, model).read();
}
