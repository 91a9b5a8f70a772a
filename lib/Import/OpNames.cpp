//===- OpNames.cpp - Names under which the tables have an op --------------===//

#include "OpNames.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace mlir::pp;

using Alias = std::pair<StringLiteral, StringLiteral>;

static constexpr Alias aliases[] = {
    {"absolute", "abs"},
    {"adjoint", "mT"},
    {"clip", "clamp"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"mH", "mT"},
    {"matrix_H", "mT"},
    {"max.other", "maximum.default"},
    {"min.other", "minimum.default"},
    {"moveaxis", "movedim"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"positive", "alias"},
    {"row_stack", "vstack"},
    {"sgn", "sign"},
    {"special_erf", "erf"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_xlogy.default", "xlogy.Tensor"},
    {"subtract", "sub"},
    {"swapdims.default", "transpose.int"},
    {"true_divide", "div"},
    {"unsafe_chunk", "chunk"},
    {"unsafe_split", "split"},
    {"unsafe_split_with_sizes", "split_with_sizes"},
    {"vdot", "dot"},
};

ArrayRef<Alias> pt2::listAliases() { return aliases; }

std::string pt2::outOfPlace(StringRef op) {
  auto [name, overload] = op.rsplit('.');
  if (!name.consume_back("_") || name.ends_with("_"))
    return "";
  return (name + "." + overload).str();
}

static StringMap<StringRef> mapAliases() {
  StringMap<StringRef> targets;
  for (auto [name, op] : aliases)
    targets[name] = op;
  return targets;
}

std::string pt2::canonicalName(StringRef op) {
  static const StringMap<StringRef> targets = mapAliases();
  std::string functional = outOfPlace(op);
  if (functional.empty())
    functional = op.str();
  StringRef name = functional;
  if (!name.consume_front("aten."))
    return functional;
  if (StringRef whole = targets.lookup(name); !whole.empty())
    return ("aten." + whole).str();
  auto [first, overload] = name.rsplit('.');
  StringRef target = targets.lookup(first);
  return target.empty() ? functional
                        : ("aten." + target + "." + overload).str();
}
