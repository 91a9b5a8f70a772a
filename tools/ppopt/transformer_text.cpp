//===- transformer_text.cpp - Transformers as text of the pp dialect ------===//

#include "transformer.h"

#include "model_text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace llvm;
using namespace ppopt;

/// How many tokens of a row an expert has room for.
static int64_t expertRoom(const Transformer &model) {
  double even =
      double(model.length) * model.expertsPerToken / double(model.experts);
  double room = std::ceil(model.capacity * even);
  return int64_t(std::clamp<double>(room, 1, double(model.length)));
}

static std::string normal(double deviation) {
  return "#pp.init<normal, 0.0, " + literal(deviation) + ">";
}

namespace {

/// Writes lines of the entry, and collects what they need: aliases of types,
/// and the number of parameters.
class LineWriter {
public:
  explicit LineWriter(const Transformer &model) : model(model), out(lines) {}

protected:
  using Shape = ArrayRef<int64_t>;

  /// Returns the alias `name`, which stands for this type wherever it is used.
  std::string type(const Twine &name, Shape shape, StringRef element = "") {
    std::string alias = "!" + name.str();
    if (known.insert(alias).second)
      aliases += alias + " = " +
                 tensorOf(shape, element.empty() ? model.type : element) + "\n";
    return alias;
  }

  void line(const Twine &text) {
    out.indent(isInRepeat ? 4 : 2) << text << "\n";
  }

  /// Writes a parameter of the model, or of each layer. `cuts`: "{tp}, {}".
  void parameter(StringRef value, const Twine &name, const std::string &alias,
                 Shape shape, const std::string &init, bool decays,
                 StringRef cuts = "") {
    int64_t elements = isInRepeat ? model.layers : 1;
    for (int64_t size : shape)
      elements *= size;
    parameters += elements;
    line(value + " = pp.param \"" + (isInRepeat ? prefix : "") + name +
         "\" {init = " + init + (decays ? "" : ", no_decay") +
         (cuts.empty() ? "" : ", shard = #pp.sharding<[" + cuts.str() + "]>") +
         "} : " + alias);
  }

  void beginRepeat(StringRef to, StringRef from, StringRef names) {
    line(to + " = pp.repeat " + Twine(model.layers) + " iter (%x = " + from +
         ") -> (" + x() + ") {");
    isInRepeat = true;
    prefix = names.str();
  }

  void endRepeat(StringRef value) {
    line("pp.yield " + value + " : " + x());
    isInRepeat = false;
    line("}");
  }

  std::string x() {
    return type("x", {model.batch, model.length, model.width});
  }
  std::string ids() { return type("ids", {model.batch, model.length}, "i32"); }
  std::string c() { return type("c", {model.width}); }
  std::string scalar() { return type("scalar", {}); }
  std::string table() { return type("table", {model.vocabulary, model.width}); }

  /// `to` = `from` times a matrix, which lies as nn.Linear's [outputs, inputs],
  /// plus a bias. `rows` is the type of `from`. Returns the result's name.
  std::string linear(StringRef to, StringRef from, const std::string &rows,
                     const Twine &name, StringRef outputs, int64_t outputCount,
                     StringRef inputs, int64_t inputCount, bool hasBias,
                     StringRef cuts = "") {
    std::string weight =
        type("w_" + outputs + "_" + inputs, {outputCount, inputCount});
    std::string w = ("%w_" + to).str(), result = ("%" + to).str();
    parameter(w, name + ".weight", weight, {outputCount, inputCount},
              normal(model.deviation), /*decays=*/true, cuts);
    line(result + " = pp.matmul " + from + ", " + w +
         " {transpose_rhs} : " + rows + ", " + weight);
    if (!hasBias)
      return result;
    std::string bias = type("b_" + outputs, {outputCount}),
                b = "%b_" + to.str();
    std::string wide =
        outputs == "c"
            ? x()
            : type(outputs, {model.batch, model.length, outputCount});
    parameter(b, name + ".bias", bias, {outputCount}, "#pp.init<zeros>",
              /*decays=*/false);
    line(result + "_b = pp.add " + result + ", " + b + " : " + wide + ", " +
         bias);
    return result + "_b";
  }

  std::string dropout(StringRef from, StringRef to) {
    if (model.dropout == 0)
      return from.str();
    line(to + " = pp.dropout " + from + " {p = " + literal(model.dropout) +
         " : f64} : " + x());
    return to.str();
  }

  std::string add(StringRef to, StringRef from, StringRef added) {
    line(to + " = pp.add " + from + ", " + added + " : " + x() + ", " + x());
    return to.str();
  }

  /// The backward is given what is kept, where it computes the rest of the
  /// layer again.
  std::string keep(StringRef to, StringRef value) {
    line(to + " = pp.checkpoint " + value + " : " + x());
    return to.str();
  }

  /// [batch, positions, heads * width] as [batch, heads, positions, width].
  std::string splitHeads(StringRef value, StringRef flat, StringRef kind,
                         int64_t heads, StringRef norm = "") {
    std::string split = type(
        kind + "_split", {model.batch, model.length, heads, model.headWidth});
    std::string s = (value + "_s").str(), h = (value + "_h").str();
    line(s + " = pp.reshape " + value + " : " + flat + " to " + split);
    if (!norm.empty()) {
      std::string width = type("d", {model.headWidth});
      std::string w = "%w_" + norm.str(), n = (value + "_n").str();
      parameter(w, "self_attn." + norm + ".weight", width, {model.headWidth},
                "#pp.init<ones>", /*decays=*/false);
      line(n + " = pp.rms_norm " + s + ", " + w + epsilon() + " : " + split +
           ", " + width);
      s = n;
    }
    line(h + " = pp.transpose " + s + " [0, 2, 1, 3] : " + split);
    return h;
  }

  /// [batch, heads, positions, width] as [batch, positions, heads * width].
  std::string mergeHeads(StringRef value, StringRef flat) {
    std::string heads = type(
        "q_heads", {model.batch, model.heads, model.length, model.headWidth});
    std::string split = type(
        "q_split", {model.batch, model.length, model.heads, model.headWidth});
    line(value + "_t = pp.transpose " + value + " [0, 2, 1, 3] : " + heads);
    line(value + "_m = pp.reshape " + value + "_t : " + split + " to " + flat);
    return (value + "_m").str();
  }

  std::string epsilon() const {
    return " {eps = " + literal(model.epsilon) + " : f64}";
  }

  std::string finish(StringRef title, StringRef signature) {
    std::string text;
    raw_string_ostream whole(text);
    whole << "// " << title << ": " << model.layers << " layers, width "
          << model.width << ", " << model.heads << " heads";
    if (model.keyHeads != model.heads)
      whole << " (" << model.keyHeads << " of keys and values)";
    whole << ", vocabulary " << model.vocabulary << "; a batch is "
          << model.batch << " rows of " << model.length << " tokens.\n// "
          << parameters << " parameters.\n// " << model.command << "\n\n"
          << aliases << "\n"
          << signature << lines << "}\n";
    return text;
  }

  void loss(StringRef logits) {
    std::string ignored;
    if (model.ignoreIndex)
      ignored =
          "{ignore_index = " + std::to_string(*model.ignoreIndex) + " : i64} ";
    line("%loss = pp.cross_entropy " + logits + ", %targets " + ignored + ": " +
         type("logits", {model.batch, model.length, model.vocabulary}) + ", " +
         ids());
    line("return %loss : " + scalar());
  }

  const Transformer &model;
  bool isInRepeat = false;

private:
  std::string aliases, lines, prefix;
  StringSet<> known;
  int64_t parameters = 0;
  raw_string_ostream out;
};

//===----------------------------------------------------------------------===//
// Decoders: Llama, Qwen, Mistral and Mixtral
//===----------------------------------------------------------------------===//

class DecoderWriter : LineWriter {
public:
  using LineWriter::LineWriter;

  std::string write() {
    parameter("%table", "model.embed_tokens.weight", table(),
              {model.vocabulary, model.width}, normal(model.deviation), true);
    line("%e = pp.embedding %table, %tokens : " + table() + ", " + ids());
    beginRepeat("%stream", "%e", "model.layers.{i}.");
    std::string attended = writeAttention();
    std::string mlp = model.experts ? writeExperts() : writeMlp();
    endRepeat(keep("%y", add("%h_m", attended, mlp)));
    std::string last = norm("%last", "%stream", "model.norm", "%w_norm");
    if (!model.tied)
      parameter("%head", "lm_head.weight", table(),
                {model.vocabulary, model.width}, normal(model.deviation), true);
    line("%logits = pp.matmul " + last + ", " +
         (model.tied ? "%table" : "%head") + " {transpose_rhs} : " + x() +
         ", " + table());
    loss("%logits");
    StringRef name = nameOf(model.family);
    std::string title = name.str();
    title[0] = toUpper(title[0]);
    std::string signature =
        "func.func @" + name.str() + "(%tokens: " + ids() +
        " {pp.input = \"tokens\"},\n    %targets: " + ids() +
        " {pp.input = \"targets\"" +
        (model.packed ? "" : ", pp.shift = 1 : i64") + "}";
    if (model.packed)
      signature += ",\n    %segments: " + ids() +
                   " {pp.input = \"segments\"},\n    %positions: " + ids() +
                   " {pp.input = \"positions\"}";
    return finish(title, signature + ") -> " + scalar() + " {\n");
  }

private:
  std::string norm(StringRef to, StringRef from, const Twine &name,
                   StringRef weight) {
    parameter(weight, name + ".weight", c(), {model.width}, "#pp.init<ones>",
              false);
    line(to + " = pp.rms_norm " + from + ", " + weight + epsilon() + " : " +
         x() + ", " + c());
    return to.str();
  }

  std::string rotate(StringRef value, StringRef heads) {
    const RotaryScaling &scaling = model.scaling;
    std::string at = model.packed ? " at %positions " : " ";
    std::string numbers = "{base = " + literal(model.rotaryBase) + " : f64";
    if (scaling.kind != RotaryScaling::none)
      numbers += ", factor = " + literal(scaling.factor) + " : f64";
    if (scaling.kind == RotaryScaling::llama3)
      numbers +=
          ", low_freq_factor = " + literal(scaling.lowFrequency) +
          " : f64, high_freq_factor = " + literal(scaling.highFrequency) +
          " : f64, original_length = " +
          std::to_string(scaling.originalLength) + " : i64";
    constexpr StringRef words[] = {"", "scaled linear ", "scaled llama3 "};
    line(value + "_r = pp.rotary " + value + at + words[scaling.kind] +
         numbers + "} : " + heads + (model.packed ? ", " + ids() : ""));
    return (value + "_r").str();
  }

  /// Returns the residual stream after the attention.
  std::string writeAttention() {
    int64_t queries = model.heads * model.headWidth;
    int64_t keys = model.keyHeads * model.headWidth;
    std::string q = type("q", {model.batch, model.length, queries});
    std::string k = type("k", {model.batch, model.length, keys});
    norm("%n", "%x", "input_layernorm", "%w_n");
    auto project = [&](StringRef to, StringRef kind, int64_t outputs) {
      return linear(to, "%n", x(), "self_attn." + to + "_proj", kind, outputs,
                    "c", model.width, model.projectionBiases, "{tp}, {}");
    };
    auto heads = [&](StringRef kind, int64_t count) {
      return type(kind + "_heads",
                  {model.batch, count, model.length, model.headWidth});
    };
    bool norms = model.headNorms;
    std::vector<std::string> values = {
        rotate(splitHeads(project("q", "q", queries), q, "q", model.heads,
                          norms ? "q_norm" : ""),
               heads("q", model.heads)),
        rotate(splitHeads(project("k", "k", keys), k, "k", model.keyHeads,
                          norms ? "k_norm" : ""),
               heads("k", model.keyHeads)),
        splitHeads(project("v", "k", keys), k, "k", model.keyHeads)};
    std::string attributes = "causal";
    if (model.window && *model.window < model.length)
      attributes += ", window = " + std::to_string(*model.window) + " : i64";
    if (model.attentionDropout > 0)
      attributes += ", dropout = " + literal(model.attentionDropout) + " : f64";
    line("%a, %lse = pp.attention " + join(values, ", ") +
         (model.packed ? " segments %segments" : "") + " {" + attributes +
         "} : " + heads("q", model.heads) + ", " + heads("k", model.keyHeads) +
         ", " + heads("k", model.keyHeads) +
         (model.packed ? ", " + ids() : ""));
    std::string merged = mergeHeads("%a", q);
    std::string o = linear("o", merged, q, "self_attn.o_proj", "c", model.width,
                           "q", queries, model.outputBias, "{}, {tp}");
    return keep("%h", add("%x_o", "%x", o));
  }

  /// Returns what the gated MLP adds.
  std::string writeMlp() {
    std::string f = type("f", {model.batch, model.length, model.mlpWidth});
    norm("%m", "%h", "post_attention_layernorm", "%w_m");
    auto project = [&](StringRef to) {
      return linear(to, "%m", x(), "mlp." + to + "_proj", "f", model.mlpWidth,
                    "c", model.width, model.mlpBiases, "{tp}, {}");
    };
    std::string gate = project("gate"), up = project("up");
    line("%s = pp.silu " + gate + " : " + f);
    line("%g = pp.mul %s, " + up + " : " + f + ", " + f);
    return linear("down", "%g", f, "mlp.down_proj", "c", model.width, "f",
                  model.mlpWidth, model.mlpBiases, "{}, {tp}");
  }

  /// Returns what the experts add: of each row of the batch, each has room for
  /// some tokens, so that rows stay apart.
  std::string writeExperts() {
    int64_t b = model.batch, t = model.length, e = model.experts,
            k = model.expertsPerToken, c = model.width, f = model.mlpWidth;
    int64_t room = expertRoom(model);
    std::string scores = type("scores", {b, t, e}),
                top = type("top", {b, t, k}),
                picked = type("picked", {b, t, k}, "i32"),
                rows = type("rows", {b, e, room, c}),
                split = type("expert_rows", {e, b, room, c}),
                flat = type("expert_x", {e, b * room, c}),
                hidden = type("expert_f", {e, b * room, f}),
                up = type("w_up", {e, f, c}), down = type("w_down", {e, c, f});
    norm("%m", "%h", "post_attention_layernorm", "%w_m");
    std::string scored = linear("router", "%m", x(), "block_sparse_moe.gate",
                                "scores", e, "c", c, /*hasBias=*/false);
    line("%best, %experts = pp.top_k " + scored + " {k = " + Twine(k) +
         " : i64, dim = 2 : i64} : " + scores + " -> " + top + ", " + picked);
    line("%shares = pp.softmax %best : " + top);
    line("%rows = pp.dispatch %m, %experts : " + x() + ", " + picked + " to " +
         rows);
    line("%rows_t = pp.transpose %rows [1, 0, 2, 3] : " + rows);
    line("%rows_f = pp.reshape %rows_t : " + split + " to " + flat);
    auto multiply = [&](StringRef to, StringRef from, const std::string &type,
                        StringRef name, const std::string &weight, Shape shape,
                        StringRef cuts) {
      std::string w = ("%" + name).str();
      parameter(w, "block_sparse_moe.experts." + name + ".weight", weight,
                shape, normal(model.deviation), /*decays=*/true, cuts);
      line(to + " = pp.matmul " + from + ", " + w +
           " {transpose_rhs} : " + type + ", " + weight);
    };
    multiply("%gate", "%rows_f", flat, "w1", up, {e, f, c}, "{}, {tp}, {}");
    multiply("%up", "%rows_f", flat, "w3", up, {e, f, c}, "{}, {tp}, {}");
    line("%s = pp.silu %gate : " + hidden);
    line("%g = pp.mul %s, %up : " + hidden + ", " + hidden);
    multiply("%down", "%g", hidden, "w2", down, {e, c, f}, "{}, {}, {tp}");
    line("%down_s = pp.reshape %down : " + flat + " to " + split);
    line("%down_t = pp.transpose %down_s [1, 0, 2, 3] : " + split);
    line("%moe = pp.combine %down_t, %experts, %shares : " + rows + ", " +
         picked + ", " + top + " to " + x());
    return "%moe";
  }
};

//===----------------------------------------------------------------------===//
// BERT
//===----------------------------------------------------------------------===//

class BertWriter : LineWriter {
public:
  using LineWriter::LineWriter;

  std::string write() {
    writeEmbeddings();
    writeMask();
    beginRepeat("%stream", embedded, "bert.encoder.layer.{i}.");
    std::string attended = writeAttention();
    std::string f = type("f", {model.batch, model.length, model.mlpWidth});
    std::string up = linear("up", attended, x(), "intermediate.dense", "f",
                            model.mlpWidth, "c", model.width, true, "{tp}, {}");
    line("%g = pp.gelu " + up + (model.tanhGelu ? " {tanh}" : "") + " : " + f);
    std::string down = linear("down", "%g", f, "output.dense", "c", model.width,
                              "f", model.mlpWidth, true, "{}, {tp}");
    std::string sum = add("%r", attended, dropout(down, "%down_d"));
    endRepeat(keep("%y", norm("%r_n", sum, "output.LayerNorm", "r")));
    writeHead();
    std::string signature = "func.func @bert(%tokens: " + ids() +
                            " {pp.input = \"tokens\"},\n"
                            "    %token_types: " +
                            ids() +
                            " {pp.input = \"token_types\"},\n"
                            "    %attention_mask: " +
                            ids() +
                            " {pp.input = \"attention_mask\"},\n"
                            "    %targets: " +
                            ids() + " {pp.input = \"targets\"}) -> " +
                            scalar() + " {\n";
    return finish("BERT", signature);
  }

private:
  std::string norm(StringRef to, StringRef from, const Twine &name,
                   StringRef suffix) {
    std::string w = ("%w_" + suffix).str(), b = ("%b_" + suffix).str();
    parameter(w, name + ".weight", c(), {model.width}, "#pp.init<ones>", false);
    parameter(b, name + ".bias", c(), {model.width}, "#pp.init<zeros>", false);
    line(to + " = pp.layer_norm " + from + ", " + w + ", " + b + epsilon() +
         " : " + x() + ", " + c() + ", " + c());
    return to.str();
  }

  std::string rows(StringRef value, StringRef name, StringRef alias,
                   int64_t count) {
    std::string shape = type(alias, {count, model.width});
    parameter(value, "bert.embeddings." + name + ".weight", shape,
              {count, model.width}, normal(model.deviation), true);
    return shape;
  }

  void writeEmbeddings() {
    rows("%table", "word_embeddings", "table", model.vocabulary);
    std::string places =
        rows("%places", "position_embeddings", "places", model.positions);
    std::string types =
        rows("%types", "token_type_embeddings", "types", model.tokenTypes);
    line("%e_w = pp.embedding %table, %tokens : " + table() + ", " + ids());
    line("%e_t = pp.embedding %types, %token_types : " + types + ", " + ids());
    std::string first = "%places", firstType = places;
    if (model.length < model.positions) {
      first = "%first";
      firstType = type("first", {model.length, model.width});
      line("%first = pp.slice %places [0, 0] : " + places + " to " + firstType);
    }
    line("%e_wt = pp.add %e_w, %e_t : " + x() + ", " + x());
    line("%e_p = pp.add %e_wt, " + first + " : " + x() + ", " + firstType);
    std::string e = norm("%e", "%e_p", "bert.embeddings.LayerNorm", "e");
    embedded = dropout(e, "%e_d");
  }

  /// Keys that the attention mask has a 0 for are padding.
  void writeMask() {
    std::string bits = type("bits", {model.batch, model.length}, "i1");
    line("%zero = pp.constant dense<0> : tensor<i32>");
    line("%bits = pp.compare ne %attention_mask, %zero : " + ids() +
         ", tensor<i32>");
    line("%mask = pp.reshape %bits : " + bits + " to " + mask());
  }

  std::string mask() {
    return type("mask", {model.batch, 1, 1, model.length}, "i1");
  }

  std::string writeAttention() {
    std::string q =
        type("q", {model.batch, model.length, model.heads * model.headWidth});
    std::string heads = type(
        "q_heads", {model.batch, model.heads, model.length, model.headWidth});
    std::vector<std::string> values(3);
    constexpr StringRef names[] = {"query", "key", "value"};
    for (auto [i, name] : enumerate(names)) {
      StringRef to = name.take_front();
      std::string flat =
          linear(to, "%x", x(), "attention.self." + name, "q", model.width, "c",
                 model.width, true, "{tp}, {}");
      values[i] = splitHeads(flat, q, "q", model.heads);
    }
    std::string attributes;
    if (model.attentionDropout > 0)
      attributes = " {dropout = " + literal(model.attentionDropout) + " : f64}";
    line("%a, %lse = pp.attention " + join(values, ", ") + " mask %mask" +
         attributes + " : " + heads + ", " + heads + ", " + heads + ", " +
         mask());
    std::string merged = mergeHeads("%a", q);
    std::string o = linear("o", merged, q, "attention.output.dense", "c",
                           model.width, "q", model.width, true, "{}, {tp}");
    std::string sum = add("%s", "%x", dropout(o, "%o_d"));
    return keep("%h", norm("%s_n", sum, "attention.output.LayerNorm", "s"));
  }

  /// Predicts the tokens; its matrix is the table of the tokens.
  void writeHead() {
    std::string t =
        linear("t", "%stream", x(), "cls.predictions.transform.dense", "c",
               model.width, "c", model.width, true);
    line("%t_g = pp.gelu " + t + (model.tanhGelu ? " {tanh}" : "") + " : " +
         x());
    std::string last =
        norm("%last", "%t_g", "cls.predictions.transform.LayerNorm", "last");
    line("%scores = pp.matmul " + last + ", %table {transpose_rhs} : " + x() +
         ", " + table());
    std::string logits =
        type("logits", {model.batch, model.length, model.vocabulary});
    std::string bias = type("v", {model.vocabulary});
    parameter("%b_scores", "cls.predictions.bias", bias, {model.vocabulary},
              "#pp.init<zeros>", false);
    line("%logits = pp.add %scores, %b_scores : " + logits + ", " + bias);
    loss("%logits");
  }

  std::string embedded;
};

} // namespace

std::string ppopt::writeTransformer(const Transformer &model) {
  if (model.family == Family::bert)
    return BertWriter(model).write();
  return DecoderWriter(model).write();
}

std::string ppopt::checkTransformer(const Transformer &model) {
  if (model.heads % model.keyHeads != 0)
    return ("--heads " + Twine(model.heads) +
            " does not divide by --kv-heads " + Twine(model.keyHeads))
        .str();
  if (model.family == Family::bert && model.width % model.heads != 0)
    return ("--width " + Twine(model.width) + " does not divide by --heads " +
            Twine(model.heads))
        .str();
  if (model.family != Family::bert && model.headWidth % 2 != 0)
    return "--head-width: rotary embeddings need an even number";
  if (model.family == Family::bert && model.length > model.positions)
    return ("--seq " + Twine(model.length) + " is above the " +
            Twine(model.positions) + " positions of the model")
        .str();
  if (model.expertsPerToken > model.experts)
    return "--experts-per-token: at most the number of experts";
  if (model.vocabulary > INT32_MAX)
    return "--vocab: token ids have 32 bits";
  if (model.ignoreIndex &&
      (*model.ignoreIndex > INT32_MAX || *model.ignoreIndex < INT32_MIN))
    return "--ignore-index: token ids have 32 bits";
  if (model.layers > 10000)
    return "--layers: at most 10000";
  // Far more than any machine can hold, and far from overflow.
  constexpr double limit = 1e13;
  double width = model.width, rows = double(model.batch) * model.length;
  double most = std::max(
      {width, double(model.mlpWidth), double(model.heads) * model.headWidth});
  double experts = std::max<double>(model.experts, 1);
  if (model.layers * width * most * experts > limit || rows * most > limit ||
      model.vocabulary * width > limit || model.positions * width > limit ||
      model.tokenTypes * width > limit)
    return "these sizes make more than 10^13 numbers";
  return "";
}
