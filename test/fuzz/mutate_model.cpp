//===- mutate_model.cpp - Changes to the text of a model ------------------===//

#include "mutate_model.h"

#include "model_lines.h"

#include <algorithm>
#include <random>

using namespace fuzz;

namespace {

/// "$v" stands for a value of type "$t" with element type "$e", "$w" for
/// another of that type, "$r" for the result, of the same type, "$n" for a
/// number that is new, "$d" for the number of the last dimension, "$c" for its
/// size, "$p" for a permutation and its inverse, "$1" for the type whose last
/// dimension is 1.
constexpr const char *kInsertions[] = {
    "$r = pp.neg $v : $t",
    "$r = pp.abs $v : $t",
    "$r = pp.exp $v : $t",
    "$r = pp.log $v : $t",
    "$r = pp.sqrt $v : $t",
    "$r = pp.rsqrt $v : $t",
    "$r = pp.expm1 $v : $t",
    "$r = pp.log1p $v : $t",
    "$r = pp.sin $v : $t",
    "$r = pp.cos $v : $t",
    "$r = pp.sign $v : $t",
    "$r = pp.floor $v : $t",
    "$r = pp.ceil $v : $t",
    "$r = pp.round $v : $t",
    "$r = pp.pow $v {exponent = -1.5 : f64} : $t",
    "$r = pp.clamp $v {min = -0.5 : f64, max = 2.0 : f64} : $t",
    "$r = pp.tanh $v : $t",
    "$r = pp.erf $v : $t",
    "$r = pp.sigmoid $v : $t",
    "$r = pp.softplus $v : $t",
    "$r = pp.relu $v : $t",
    "$r = pp.silu $v : $t",
    "$r = pp.gelu $v : $t",
    "$r = pp.gelu $v {tanh} : $t",
    "$r = pp.detach $v : $t",
    "$r = pp.checkpoint $v : $t",
    "$r = pp.softmax $v : $t",
    "$r = pp.log_softmax $v : $t",
    "$r = pp.normalize $v {center, eps = 1.0e-5 : f64} : $t",
    "$r = pp.dropout $v {p = 0.1 : f64} : $t",
    "$r = pp.add $v, $w : $t, $t",
    "$r = pp.sub $v, $w : $t, $t",
    "$r = pp.mul $v, $w : $t, $t",
    "$r = pp.div $v, $w : $t, $t",
    "$r = pp.power $v, $w : $t, $t",
    "$r = pp.maximum $v, $w : $t, $t",
    "$r = pp.minimum $w, $v : $t, $t",
    "$r = pp.constant dense<0.5> : $t",
    "%c$n = pp.compare lt $v, $w : $t, $t\n"
    "$r = pp.select %c$n, $v, $w : $b, $t, $t",
    "%m$n = pp.reduce max $v [$d] {keep_dims} : $t\n"
    "$r = pp.sub $v, %m$n : $t, $1",
    "%m$n = pp.reduce sum $v [$d] {keep_dims} : $t\n"
    "$r = pp.div $v, %m$n : $t, $1",
    "%m$n = pp.reduce mean $v [$d] {keep_dims} : $t\n"
    "$r = pp.mul $v, %m$n : $t, $1",
    "%m$n = pp.transpose $v $p : $t\n"
    "%u$n = pp.tanh %m$n : $q\n"
    "$r = pp.transpose %u$n $p : $q",
    "%m$n = pp.reshape $v : $t to $f\n"
    "%u$n = pp.softplus %m$n : $f\n"
    "$r = pp.reshape %u$n : $f to $t",
    "%m$n = pp.cast $v : $t to $h\n"
    "%u$n = pp.mul %m$n, %m$n : $h, $h\n"
    "$r = pp.cast %u$n : $h to $t",
    "%i$n = pp.iota {dim = $d : i64} -> $i\n"
    "%u$n = pp.cast %i$n : $i to $t\n"
    "$r = pp.add $v, %u$n : $t, $t",
    "%p$n = pp.param \"p$n\" {init = #pp.init<normal, 0.0, 0.1>} : $s\n"
    "$r = pp.matmul $v, %p$n : $t, $s",
    "%p$n = pp.param \"p$n\" {init = #pp.init<ones>, no_decay} : $k\n"
    "%u$n = pp.param \"u$n\" {init = #pp.init<zeros>, frozen} : $k\n"
    "$r = pp.layer_norm $v, %p$n, %u$n : $t, $k, $k",
    "%p$n = pp.param \"p$n\" {init = #pp.init<ones>} : $k\n"
    "$r = pp.rms_norm $v, %p$n {eps = 0.25 : f64} : $t, $k",
    "%m$n = pp.slice $v $z : $t to $1\n"
    "$r = pp.broadcast %m$n $a : $1 to $t",
    "%m$n = pp.slice $v $z : $t to $1\n"
    "$r = pp.pad %m$n $z : $1 to $t",
    "$r = pp.on 0 -> $t {\n%o$n = pp.relu $v : $t\npp.yield %o$n : $t\n}",
    "$r = pp.on 1 -> $t {\n%o$n = pp.mul $v, $w : $t, $t\n"
    "pp.yield %o$n : $t\n}",
    "$r = pp.on 2 -> $t {\n%o$n = pp.tanh $v : $t\npp.yield %o$n : $t\n}",
};

/// Ops of one syntax, which may stand for each other.
const std::vector<std::vector<std::string>> kAlike = {
    {"pp.neg",        "pp.abs",     "pp.exp",         "pp.log",
     "pp.sqrt",       "pp.rsqrt",   "pp.tanh",        "pp.expm1",
     "pp.log1p",      "pp.sin",     "pp.cos",         "pp.sign",
     "pp.floor",      "pp.ceil",    "pp.round",       "pp.pow",
     "pp.clamp",      "pp.erf",     "pp.sigmoid",     "pp.softplus",
     "pp.relu",       "pp.silu",    "pp.gelu",        "pp.detach",
     "pp.checkpoint", "pp.softmax", "pp.log_softmax", "pp.normalize"},
    {"pp.add", "pp.sub", "pp.mul", "pp.div", "pp.maximum", "pp.minimum",
     "pp.power", "pp.matmul", "pp.mse", "pp.softmax_grad", "pp.embedding",
     "pp.cross_entropy", "pp.token_loss", "pp.rms_norm"},
    {"pp.reduce sum", "pp.reduce mean", "pp.reduce max"},
    {"pp.compare lt", "pp.compare eq", "pp.compare ge", "pp.compare ne"},
    {"pp.reshape", "pp.cast"},
    {"pp.slice", "pp.pad", "pp.broadcast"}};

const std::vector<std::string> kElements = {"f32", "f64", "bf16", "i32",  "i64",
                                            "i1",  "f16", "i8",   "index"};

const std::vector<std::string> kAttributes = {"{tanh}",
                                              "{causal}",
                                              "{transpose_rhs}",
                                              "{transpose_lhs}",
                                              "{transpose_lhs, transpose_rhs}",
                                              "{keep_dims}",
                                              "{ignore_index = -100 : i64}",
                                              "{ignore_index = 0 : i64}",
                                              "{scale = 0.5 : f64}",
                                              "{p = 0.5 : f64}",
                                              "{eps = 0.0 : f64}",
                                              "{dim = 1 : i64}",
                                              "{frozen}",
                                              "{unknown}"};

const std::vector<std::string> kNumbers = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "4",
                                           "5",
                                           "6",
                                           "7",
                                           "8",
                                           "12",
                                           "16",
                                           "24",
                                           "31",
                                           "64",
                                           "128",
                                           "255",
                                           "1000",
                                           "65536",
                                           "-1",
                                           "-2",
                                           "1.5",
                                           "1e9",
                                           "2147483647",
                                           "4294967296",
                                           "1099511627776",
                                           "4611686018427387904",
                                           "9223372036854775807"};

/// What a plan may be made of, flag by flag.
const std::vector<std::vector<std::string>> kFlags = {
    {"--mesh dp=1", "--mesh dp=2", "--mesh pp=2", "--mesh dp=2,pp=2",
     "--mesh pp=3", "--mesh pp=2,dp=2", "--mesh pp=4", "--mesh dp=4,pp=3",
     "--mesh dp=65536"},
    {"--schedule naive", "--schedule gpipe", "--schedule 1f1b",
     "--schedule interleaved", "--schedule zb-h1", "--schedule zb-v",
     "--schedule dualpipe-v", "--schedule auto"},
    {"--microbatches 1", "--microbatches 2", "--microbatches 3",
     "--microbatches 4", "--microbatches 8", "--microbatches 1000"},
    {"--batch 8", "--batch 12", "--batch 24", "--batch 1",
     "--batch 9223372036854775807"},
    {"--chunks 1", "--chunks 2", "--chunks 3"},
    {"--recompute none", "--recompute cheap", "--recompute layer"},
    {"--optimizer sgd", "--optimizer sgd --nesterov", "--optimizer adam"},
    {"--precision bf16", "--precision model"},
    {"--launch local", "--launch ranks"},
    {"--tied owner", "--tied sum"},
    {"--block-bytes 64", "--block-bytes 1024", "--block-bytes 65536",
     "--block-bytes unlimited"},
    {"--device-memory 4096", "--device-memory 1MiB"},
    {"--threads 2", "--threads 1024"},
    {"--cpu x86-64", "--cpu x86-64-v4", "--cpu sapphirerapids"}};

class Mutator {
public:
  Mutator(const std::string &text, unsigned seed) : random(seed), model(text) {}

  std::string run() {
    for (size_t changes = 1 + pick(4); changes > 0; --changes)
      change();
    return model.join();
  }

private:
  size_t pick(size_t count) { return count ? random() % count : 0; }

  template <typename List> const auto &one(const List &list) {
    return list[pick(std::size(list))];
  }

  void change() {
    switch (pick(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return insertOps();
    case 5:
    case 6:
      return changeNumber();
    case 7:
      return changeNumberEverywhere();
    case 8:
    case 9:
      return exchangeOperand();
    case 10:
      return exchangeOp();
    case 11:
      return changeElements();
    case 12:
      return addAttribute();
    case 13:
      return moveLine();
    default:
      return changeFlags();
    }
  }

  /// Puts ops between a value and one of its uses.
  void insertOps() {
    std::vector<Use> uses = model.findUses();
    if (uses.empty())
      return;
    const Use use = one(uses);
    std::vector<std::string> others = {use.name};
    for (const Use &other : uses)
      if (other.type == use.type && other.line <= use.line)
        others.push_back(other.name);
    std::string number = std::to_string(random() % 100000);
    model.replaceIn(use.line, use.name, "%r" + number);
    model.insert(use.line, expand(one(kInsertions), use, one(others), number));
  }

  static void replaceAll(std::string &text, const std::string &from,
                         const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }

  static std::string expand(std::string text, const Use &use,
                            const std::string &other,
                            const std::string &number) {
    const TensorType type(use.type);
    size_t rank = type.sizes.size();
    std::string element = type.element;
    std::vector<std::string> sizes = type.sizes, swapped = sizes, last = sizes;
    if (rank >= 2)
      std::swap(swapped[rank - 1], swapped[rank - 2]);
    if (rank >= 1)
      last[rank - 1] = "1";
    std::string size = rank ? sizes.back() : "1";
    std::vector<std::string> flat = sizes;
    if (rank >= 2)
      flat.insert(flat.begin(), "1");
    const std::pair<const char *, std::string> parts[] = {
        {"$r", "%r" + number},
        {"$n", number},
        {"$v", use.name},
        {"$w", other},
        {"$t", use.type},
        {"$b", makeTensor(sizes, "i1")},
        {"$1", makeTensor(last, element)},
        {"$d", std::to_string(rank ? rank - 1 : 0)},
        {"$p", permutation(rank)},
        {"$q", makeTensor(swapped, element)},
        {"$f", makeTensor(flat, element)},
        {"$h", makeTensor(sizes, element == "f32" ? "f64" : "f32")},
        {"$i", makeTensor(sizes, "i32")},
        {"$s", makeTensor({size, size}, element)},
        {"$k", makeTensor({size}, element)},
        {"$z", zeros(rank)},
        {"$a", counting(rank)}};
    for (const auto &[from, to] : parts)
      replaceAll(text, from, to);
    return text;
  }

  /// A number, and if it is a size a little away from it, or a multiple: long
  /// loops and many blocks are where passes become slow.
  std::string another(const std::string &number) {
    if (pick(2) || number.size() > 9)
      return one(kNumbers);
    long value = std::atol(number.c_str());
    static const long steps[] = {-1, 1, 2}, factors[] = {7, 33, 64, 999};
    return std::to_string(pick(2) ? value + one(steps) : value * one(factors));
  }

  void changeNumber() {
    std::vector<Token> numbers = model.findNumbers();
    if (numbers.empty())
      return;
    const Token number = one(numbers);
    model.replace(number, another(number.text));
  }

  /// Sizes that were equal stay so.
  void changeNumberEverywhere() {
    std::vector<Token> numbers = model.findNumbers();
    if (numbers.empty())
      return;
    const Token chosen = one(numbers);
    std::string to = another(chosen.text);
    for (size_t i = numbers.size(); i > 0; --i)
      if (numbers[i - 1].text == chosen.text)
        model.replace(numbers[i - 1], to);
  }

  void exchangeOperand() {
    std::vector<Use> uses = model.findUses();
    if (uses.empty())
      return;
    const Use use = one(uses);
    std::vector<std::string> others;
    for (const Use &other : uses)
      if (other.type == use.type || pick(8) == 0)
        others.push_back(other.name);
    if (!others.empty())
      model.replaceIn(use.line, use.name, one(others));
  }

  void exchangeOp() {
    const auto &alike = one(kAlike);
    std::vector<std::pair<size_t, std::string>> found;
    for (size_t line = 0; line < model.lines.size(); ++line)
      for (const std::string &op : alike)
        if (model.lines[line].find(op + " ") != std::string::npos)
          found.emplace_back(line, op);
    if (found.empty())
      return;
    const auto &[line, op] = one(found);
    std::string &text = model.lines[line];
    text.replace(text.find(op), op.size(), one(alike));
  }

  void changeElements() {
    const std::string &from = one(kElements), &to = one(kElements);
    bool isEverywhere = pick(2);
    for (std::string &line : model.lines) {
      size_t at = line.find(from + ">");
      if (at == std::string::npos || (!isEverywhere && pick(4)))
        continue;
      if (isEverywhere)
        replaceAll(line, from + ">", to + ">");
      else
        line.replace(at, from.size(), to);
    }
  }

  void addAttribute() {
    if (model.lines.empty())
      return;
    std::string &line = model.lines[pick(model.lines.size())];
    size_t colon = line.find(" : ");
    if (line.find("pp.") != std::string::npos && colon != std::string::npos)
      line.insert(colon, " " + one(kAttributes));
  }

  /// Or drops it, or writes it twice.
  void moveLine() {
    if (model.lines.empty())
      return;
    size_t from = pick(model.lines.size());
    std::string line = model.lines[from];
    if (pick(2))
      model.lines.erase(model.lines.begin() + from);
    if (pick(2))
      model.lines.insert(model.lines.begin() + pick(model.lines.size()), line);
  }

  void changeFlags() {
    std::string flags = "//";
    for (const std::vector<std::string> &choices : kFlags)
      if (pick(4) == 0)
        flags += " " + one(choices);
    if (model.lines.empty() || model.lines.front().rfind("//", 0) != 0)
      model.lines.insert(model.lines.begin(), flags);
    else if (pick(2))
      model.lines.front() = flags;
    else
      model.lines.front() += " " + one(one(kFlags));
  }

  std::minstd_rand random;
  ModelLines model;
};

} // namespace

std::string fuzz::mutateModel(const std::string &text, unsigned seed) {
  return Mutator(text, seed).run();
}
