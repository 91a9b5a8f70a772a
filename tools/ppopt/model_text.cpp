//===- model_text.cpp - Models as text of the pp dialect ------------------===//

#include "model_text.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdio>

using namespace llvm;
using namespace ppopt;

std::string ppopt::literal(double value) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  auto [mantissa, exponent] = StringRef(text).split('e');
  std::string result = mantissa.str();
  if (!mantissa.contains('.'))
    result += ".0";
  return exponent.empty() ? result : result + "e" + exponent.str();
}

std::string ppopt::tensorOf(ArrayRef<int64_t> shape, StringRef type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type.str() + ">";
}

namespace {

/// A parameter of a model: its declaration and its name in functions.
struct Parameter {
  std::string name;  ///< "attn.qkv.weight"
  std::string value; ///< the SSA name in a function, "%qkv_w"
  std::string type;  ///< alias, "!w_qkv"
  std::string init;  ///< "#pp.init<zeros>"
  bool decayed;
  std::string cuts = {}; ///< "[{}, {tp}]"; empty: not annotated
  bool frozen = false;
};

/// Writes `%name = pp.param ...`.
void declare(raw_ostream &out, StringRef value, StringRef name,
             const Parameter &parameter, StringRef indent = "  ") {
  out << indent << value << " = pp.param \"" << name
      << "\" {init = " << parameter.init
      << (parameter.decayed ? "" : ", no_decay")
      << (parameter.frozen ? ", frozen" : "");
  if (!parameter.cuts.empty())
    out << ", shard = #pp.sharding<" << parameter.cuts << ">";
  out << "} : " << parameter.type << "\n";
}

std::string normal(double deviation) {
  return "#pp.init<normal, 0.0, " + literal(deviation) + ">";
}

class GptWriter {
public:
  GptWriter(const GptModel &model, raw_ostream &out) : model(model), out(out) {
    std::string first = normal(0.02);
    std::string residual = normal(0.02 / std::sqrt(2.0 * model.layers));
    std::string ones = "#pp.init<ones>", zeros = "#pp.init<zeros>";
    attention = {
        {"ln_1.weight", "%ln1_w", "!c", ones, false},
        {"ln_1.bias", "%ln1_b", "!c", zeros, false},
        {"attn.qkv.weight", "%qkv_w", "!w_qkv", first, true, "[{}, {3 * tp}]"},
        {"attn.qkv.bias", "%qkv_b", "!c3", zeros, false},
        {"attn.proj.weight", "%proj_w", "!w_proj", residual, true,
         "[{tp}, {}]"},
        {"attn.proj.bias", "%proj_b", "!c", zeros, false},
    };
    mlp = {
        {"ln_2.weight", "%ln2_w", "!c", ones, false},
        {"ln_2.bias", "%ln2_b", "!c", zeros, false},
        {"mlp.fc.weight", "%fc_w", "!w_up", first, true, "[{}, {tp}]"},
        {"mlp.fc.bias", "%fc_b", "!c4", zeros, false},
        {"mlp.proj.weight", "%out_w", "!w_down", residual, true, "[{tp}, {}]"},
        {"mlp.proj.bias", "%out_b", "!c", zeros, false},
    };
    if (model.loraRank == 0)
      return;
    for (std::vector<Parameter> *each : {&attention, &mlp})
      for (Parameter &parameter : *each)
        parameter.frozen = true;
    // As peft draws them: adapters begin as zero.
    double bound = 1 / std::sqrt(double(model.width));
    attention.push_back(
        {"attn.qkv.lora_a", "%lora_a", "!lora_a",
         "#pp.init<uniform, " + literal(-bound) + ", " + literal(bound) + ">",
         true});
    attention.push_back({"attn.qkv.lora_b", "%lora_b", "!lora_b", zeros, true,
                         "[{}, {3 * tp}]"});
  }

  void write() {
    writeHeading();
    writeTypes();
    writeAttention();
    writeMlpOfBlock();
    writeEntry();
  }

private:
  int64_t countParameters() const {
    int64_t c = model.width, hidden = model.mlpWidth;
    int64_t perBlock = 4 * c * c + 2 * c * hidden + 9 * c + hidden;
    int64_t embeddings = (model.tied ? 1 : 2) * model.vocabulary * c;
    int64_t adapters = model.layers * 4 * c * model.loraRank;
    return embeddings + model.length * c + model.layers * perBlock + 2 * c +
           adapters;
  }

  void writeHeading() {
    out << "// GPT: " << model.layers << " layers, width " << model.width
        << ", " << model.heads << " heads, vocabulary " << model.vocabulary
        << "; a batch is " << model.batch << " rows of " << model.length
        << " tokens.\n// " << countParameters() << " parameters.\n// "
        << model.command << "\n\n";
  }

  void writeTypes() {
    int64_t b = model.batch, t = model.length, c = model.width, h = model.heads,
            d = c / h, v = model.vocabulary, hidden = model.mlpWidth;
    auto alias = [&](StringRef name, ArrayRef<int64_t> shape, StringRef type) {
      out << name << " = " << tensorOf(shape, type) << "\n";
    };
    StringRef f = model.type;
    alias("!ids", {b, t}, "i32");
    alias("!x", {b, t, c}, f);
    alias("!x3", {b, t, 3 * c}, f);
    alias("!x4", {b, t, hidden}, f);
    alias("!split", {b, t, 3 * h, d}, f);
    alias("!heads3", {b, 3 * h, t, d}, f);
    alias("!heads", {b, h, t, d}, f);
    alias("!merged", {b, t, h, d}, f);
    alias("!logits", {b, t, v}, f);
    alias("!c", {c}, f);
    alias("!c3", {3 * c}, f);
    alias("!c4", {hidden}, f);
    alias("!w_qkv", {c, 3 * c}, f);
    alias("!w_proj", {c, c}, f);
    alias("!w_up", {c, hidden}, f);
    alias("!w_down", {hidden, c}, f);
    alias("!wte", {v, c}, f);
    alias("!wpe", {t, c}, f);
    alias("!scalar", {}, f);
    if (int64_t r = model.loraRank) {
      alias("!low", {b, t, r}, f);
      alias("!lora_a", {c, r}, f);
      alias("!lora_b", {r, 3 * c}, f);
    }
    out << "\n";
  }

  /// Writes "%to = dropout of %from" if there is dropout. Returns the name of
  /// the result.
  std::string dropout(StringRef from, StringRef to) {
    if (model.dropout == 0)
      return from.str();
    out << "  " << to << " = pp.dropout " << from
        << " {p = " << literal(model.dropout) << " : f64} : !x\n";
    return to.str();
  }

  void writeSignature(StringRef name, ArrayRef<Parameter> parameters) {
    out << "func.func private @" << name << "(%x: !x";
    for (auto [i, parameter] : enumerate(parameters))
      out << (i % 2 == 0 ? ",\n    " : ", ") << parameter.value << ": "
          << parameter.type;
    out << ") -> !x {\n";
  }

  /// Writes what LoRA adds to a product of `x`. Returns the name of the sum.
  std::string writeAdapter(StringRef x, StringRef product) {
    if (model.loraRank == 0)
      return product.str();
    out << "  %la = pp.matmul " << x
        << ", %lora_a : !x, !lora_a\n"
           "  %lb = pp.matmul %la, %lora_b : !low, !lora_b\n"
           "  %ls = pp.constant dense<"
        << literal(model.loraAlpha / model.loraRank)
        << "> : !scalar\n"
           "  %l = pp.mul %lb, %ls : !x3, !scalar\n"
           "  %ml = pp.add "
        << product << ", %l : !x3, !x3\n";
    return "%ml";
  }

  void writeAttention() {
    out << "// What causal self-attention adds to the residual stream.\n";
    writeSignature("attention", attention);
    int64_t h = model.heads;
    out << "  %n = pp.layer_norm %x, %ln1_w, %ln1_b : !x, !c, !c\n"
           "  %m = pp.matmul %n, %qkv_w : !x, !w_qkv\n"
           "  %mb = pp.add %m, %qkv_b : !x3, !c3\n";
    std::string qkv = writeAdapter("%n", "%mb");
    out << "  %s = pp.reshape " << qkv
        << " : !x3 to !split\n"
           "  %qkv = pp.transpose %s [0, 2, 1, 3] : !split\n";
    constexpr StringRef names[] = {"%q", "%k", "%v"};
    for (auto [i, name] : enumerate(names))
      out << "  " << name << " = pp.slice %qkv [0, " << h * int64_t(i)
          << ", 0, 0] : !heads3 to !heads\n";
    out << "  %a, %lse = pp.attention %q, %k, %v {causal";
    if (model.attentionDropout > 0)
      out << ", dropout = " << literal(model.attentionDropout) << " : f64";
    out << "} : !heads, !heads, !heads\n"
           "  %at = pp.transpose %a [0, 2, 1, 3] : !heads\n"
           "  %o = pp.reshape %at : !merged to !x\n";
    std::string attended = "%o";
    if (!model.attends) {
      out << "  %zero = pp.constant dense<0.0> : !scalar\n"
             "  %none = pp.mul %o, %zero : !x, !scalar\n";
      attended = "%none";
    }
    out << "  %p = pp.matmul " << attended
        << ", %proj_w : !x, !w_proj\n"
           "  %pb = pp.add %p, %proj_b : !x, !c\n";
    std::string added = dropout("%pb", "%d");
    out << "  %y = pp.add %x, " << added
        << " : !x, !x\n  return %y : !x\n}\n\n";
  }

  void writeMlpOfBlock() {
    out << "// What the MLP adds to the residual stream.\n";
    writeSignature("mlp", mlp);
    out << "  %n = pp.layer_norm %x, %ln2_w, %ln2_b : !x, !c, !c\n"
           "  %m = pp.matmul %n, %fc_w : !x, !w_up\n"
           "  %mb = pp.add %m, %fc_b : !x4, !c4\n"
           "  %g = pp.gelu %mb "
        << (model.exactGelu ? "" : "{tanh} ")
        << ": !x4\n"
           "  %p = pp.matmul %g, %out_w : !x4, !w_down\n"
           "  %pb = pp.add %p, %out_b : !x, !c\n";
    std::string added = dropout("%pb", "%d");
    out << "  %y = pp.add %x, " << added
        << " : !x, !x\n  return %y : !x\n}\n\n";
  }

  /// Writes "%to = func.call @name(%from, parameters)", in the repeat.
  void writeCall(StringRef to, StringRef name, StringRef from,
                 ArrayRef<Parameter> parameters) {
    out << "    " << to << " = func.call @" << name << "(" << from;
    for (const Parameter &parameter : parameters)
      out << ", " << parameter.value;
    out << ")\n        : (!x";
    for (const Parameter &parameter : parameters)
      out << ", " << parameter.type;
    out << ") -> !x\n";
  }

  /// Writes the blocks, which begin with the value `stream`.
  void writeBlocks(StringRef stream) {
    out << "\n  %h = pp.repeat " << model.layers << " iter (%x = " << stream
        << ") -> (!x) {\n";
    for (ArrayRef<Parameter> parameters : {attention, mlp})
      for (const Parameter &parameter : parameters)
        declare(out, parameter.value, "h.{i}." + parameter.name, parameter,
                "    ");
    writeCall("%a", "attention", "%x", attention);
    writeCall("%y", "mlp", "%a", mlp);
    out << "    pp.yield %y : !x\n  }\n\n";
  }

  void writeEntry() {
    out << "func.func @gpt(%tokens: !ids {pp.input = \"tokens\"},\n"
           "    %targets: !ids {pp.input = \"targets\", pp.shift = 1 : i64}) "
           "-> !scalar {\n";
    bool frozen = model.loraRank > 0;
    declare(out, "%wte", "wte",
            {"", "", "!wte", normal(0.02), true, "", frozen});
    declare(out, "%wpe", "wpe",
            {"", "", "!wpe", normal(0.02), true, "", frozen});
    out << "  %e = pp.embedding %wte, %tokens : !wte, !ids\n"
           "  %ep = pp.add %e, %wpe : !x, !wpe\n";
    writeBlocks(dropout("%ep", "%ed"));
    declare(out, "%lnf_w", "ln_f.weight",
            {"", "", "!c", "#pp.init<ones>", false, "", frozen});
    declare(out, "%lnf_b", "ln_f.bias",
            {"", "", "!c", "#pp.init<zeros>", false, "", frozen});
    out << "  %last = pp.layer_norm %h, %lnf_w, %lnf_b : !x, !c, !c\n";
    if (!model.tied)
      declare(out, "%head", "lm_head.weight",
              {"", "", "!wte", normal(0.02), true, "", frozen});
    out << "  %logits = pp.matmul %last, " << (model.tied ? "%wte" : "%head")
        << " {transpose_rhs} : !x, !wte\n"
           "  %loss = pp.cross_entropy %logits, %targets ";
    if (model.ignoreIndex)
      out << "{ignore_index = " << *model.ignoreIndex << " : i64} ";
    out << ": !logits, !ids\n  return %loss : !scalar\n}\n";
  }

  const GptModel &model;
  raw_ostream &out;
  std::vector<Parameter> attention, mlp; ///< of a block
};

} // namespace

std::string ppopt::writeGpt(const GptModel &model) {
  std::string text;
  raw_string_ostream out(text);
  GptWriter(model, out).write();
  return text;
}

std::string ppopt::writeMlp(const MlpModel &model) {
  std::string text;
  raw_string_ostream out(text);
  auto tensor = [&](ArrayRef<int64_t> shape) {
    return tensorOf(shape, model.type);
  };
  ArrayRef<int64_t> widths = model.widths;
  size_t layers = widths.size() - 1;
  std::string target = tensor({model.batch, widths.back()});

  out << "// A multi-layer perceptron; a batch is " << model.batch
      << " rows.\n// " << model.command << "\n\n"
      << "func.func @mlp(%x: " << tensor({model.batch, widths.front()})
      << " {pp.input = \"x\"},\n    %y: " << target
      << " {pp.input = \"y\"}) -> " << tensor({}) << " {\n";
  std::string value = "%x";
  for (size_t layer = 0; layer < layers; ++layer) {
    std::string n = std::to_string(layer), name = "layers." + n;
    int64_t rows = widths[layer], columns = widths[layer + 1];
    std::string weight = tensor({rows, columns}), bias = tensor({columns});
    std::string to = tensor({model.batch, columns});
    declare(out, "%w" + n, name + ".weight",
            {"", "", weight, normal(1 / std::sqrt(double(rows))), true});
    declare(out, "%b" + n, name + ".bias",
            {"", "", bias, "#pp.init<zeros>", false});
    out << "  %m" << n << " = pp.matmul " << value << ", %w" << n << " : "
        << tensor({model.batch, rows}) << ", " << weight << "\n"
        << "  %a" << n << " = pp.add %m" << n << ", %b" << n << " : " << to
        << ", " << bias << "\n";
    value = "%a" + n;
    if (layer + 1 == layers)
      break;
    out << "  %h" << n << " = pp." << model.activation << " " << value
        << (model.activation == "gelu" ? " {tanh}" : "") << " : " << to << "\n";
    value = "%h" + n;
  }
  out << "  %loss = pp.mse " << value << ", %y : " << target << ", " << target
      << "\n  return %loss : " << tensor({}) << "\n}\n";
  return text;
}
