//===- OpCall.cpp - One node of a graph, with its arguments' values -------===//

#include "OpCall.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

const Argument *OpCall::find(StringRef name) const {
  asked.insert(name);
  for (const NamedArgument &argument : node.arguments)
    if (argument.name == name)
      return argument.value.kind == Argument::Kind::None ? nullptr
                                                         : &argument.value;
  return nullptr;
}

const Argument *OpCall::need(StringRef name, bool isNeeded) {
  const Argument *argument = find(name);
  if (!argument && isNeeded)
    fail("lacks the argument '" + name + "'");
  return argument;
}

bool OpCall::has(StringRef name) const { return find(name); }

std::string OpCall::findIgnoredArgument() const {
  static constexpr StringLiteral known[] = {
      // Where it is, and how it is computed.
      "device", "layout", "pin_memory", "memory_format", "non_blocking", "copy",
      "cudnn_enable", "cudnn_enabled", "sparse", "implicit", "half_to_float",
      // The shape and the type of the result.
      "dtype", "size", "shape", "sizes", "dim", "dims", "start_dim", "end_dim",
      "N", "C", "HxW", "split_size", "split_sizes", "chunks", "sections",
      "repeats"};
  for (const NamedArgument &argument : node.arguments)
    if (argument.value.kind != Argument::Kind::None &&
        argument.value.kind != Argument::Kind::Other &&
        !asked.contains(argument.name) &&
        !llvm::is_contained(known, argument.name))
      return argument.name;
  return "";
}

const Tensor &OpCall::lookUp(StringRef name) {
  static const Tensor none{Dtype::f32, {}, HostTensor(Dtype::f32, {}), {}, -1};
  auto found = environment.tensors.find(name);
  if (found != environment.tensors.end())
    return found->second;
  fail("reads '" + name + "', which is no tensor");
  return none;
}

const Tensor &OpCall::tensor(StringRef name) {
  const Argument *argument = need(name, true);
  if (argument && argument->kind != Argument::Kind::Tensor)
    fail("has the argument '" + name + "', which is no tensor");
  bool isTensor = argument && argument->kind == Argument::Kind::Tensor;
  return lookUp(isTensor ? StringRef(argument->names.front()) : "");
}

const Tensor *OpCall::optionalTensor(StringRef name) {
  return has(name) ? &tensor(name) : nullptr;
}

bool OpCall::isTensor(StringRef name) const {
  const Argument *argument = find(name);
  return argument && argument->kind == Argument::Kind::Tensor;
}

std::vector<const Tensor *> OpCall::tensors(StringRef name) {
  std::vector<const Tensor *> list = optionalTensors(name);
  if (llvm::is_contained(list, nullptr))
    fail("has None in the argument '" + name + "'");
  llvm::erase(list, nullptr);
  return list;
}

std::vector<const Tensor *> OpCall::optionalTensors(StringRef name) {
  std::vector<const Tensor *> list;
  const Argument *argument = need(name, true);
  if (!argument)
    return list;
  if (argument->kind != Argument::Kind::Tensors &&
      argument->kind != Argument::Kind::Tensor)
    fail("has the argument '" + name + "', which is no list of tensors");
  for (const std::string &each : argument->names)
    list.push_back(each.empty() ? nullptr : &lookUp(each));
  return list;
}

/// A number of the archive as an integer; it may be any number.
static int64_t toInteger(double value) {
  constexpr double limit = 4611686018427387904.0; // 2^62
  return value > -limit && value < limit ? int64_t(value) : 0;
}

double OpCall::symbol(StringRef name) {
  auto found = environment.symbols.find(name);
  if (found != environment.symbols.end())
    return found->second;
  auto hint = graph.symbols.find(name);
  if (hint != graph.symbols.end())
    return hint->second;
  fail("reads '" + name + "', a number that is not known");
  return 1;
}

bool OpCall::isIntegral(StringRef name) const {
  const Argument *argument = find(name);
  if (!argument)
    return true;
  if (argument->kind == Argument::Kind::SymInt) {
    StringRef symbolName = argument->names.front();
    auto known = environment.symbols.find(symbolName);
    double value = known != environment.symbols.end()
                       ? known->second
                       : graph.symbols.lookup(symbolName);
    return value == std::floor(value);
  }
  return argument->kind == Argument::Kind::Int ||
         argument->kind == Argument::Kind::Bool;
}

int64_t OpCall::integer(StringRef name, std::optional<int64_t> fallback) {
  const Argument *argument = need(name, !fallback);
  if (!argument)
    return fallback.value_or(1);
  switch (argument->kind) {
  case Argument::Kind::Int:
  case Argument::Kind::Bool:
    return argument->ints.front();
  case Argument::Kind::SymInt:
    return toInteger(symbol(argument->names.front()));
  default:
    fail("has the argument '" + name + "', which is no integer");
    return fallback.value_or(1);
  }
}

double OpCall::number(StringRef name, std::optional<double> fallback) {
  const Argument *argument = need(name, !fallback);
  if (!argument)
    return fallback.value_or(1);
  switch (argument->kind) {
  case Argument::Kind::Float:
    return argument->number;
  case Argument::Kind::Int:
  case Argument::Kind::Bool:
    return double(argument->ints.front());
  case Argument::Kind::SymInt:
    return symbol(argument->names.front());
  default:
    fail("has the argument '" + name + "', which is no number");
    return fallback.value_or(1);
  }
}

bool OpCall::flag(StringRef name, bool fallback) {
  return integer(name, fallback) != 0;
}

Shape OpCall::integers(StringRef name, std::optional<Shape> fallback) {
  const Argument *argument = need(name, !fallback);
  if (!argument)
    return fallback.value_or(Shape());
  Shape list;
  switch (argument->kind) {
  case Argument::Kind::Int:
  case Argument::Kind::Ints:
    return Shape(argument->ints.begin(), argument->ints.end());
  case Argument::Kind::SymInt:
    return {toInteger(symbol(argument->names.front()))};
  case Argument::Kind::SymInts:
    for (auto [each, number] : zip_equal(argument->names, argument->ints))
      list.push_back(each.empty() ? number : toInteger(symbol(each)));
    return list;
  case Argument::Kind::Tensors:
    if (argument->names.empty())
      return list; // an empty list has no type
    [[fallthrough]];
  default:
    fail("has the argument '" + name + "', which is no list of integers");
    return list;
  }
}

bool OpCall::isText(StringRef name) const {
  const Argument *argument = find(name);
  return argument && argument->kind == Argument::Kind::Text;
}

StringRef OpCall::text(StringRef name, StringRef fallback) {
  const Argument *argument = find(name);
  if (!argument)
    return fallback;
  if (argument->kind != Argument::Kind::Text)
    fail("has the argument '" + name + "', which is no text");
  return argument->text;
}

std::optional<Dtype> OpCall::dtype(StringRef name) {
  const Argument *argument = find(name);
  if (!argument)
    return std::nullopt;
  if (argument->kind != Argument::Kind::Dtype) {
    fail("has the argument '" + name + "', which is no type");
    return std::nullopt;
  }
  std::optional<Dtype> type = dtypeFromCode(argument->ints.front());
  if (!type)
    fail("makes a tensor of the type " + Twine(argument->ints.front()) +
         ", which no model of ppopt has");
  return type;
}

int64_t OpCall::wrapDim(int64_t dim, int64_t rank) {
  int64_t most = std::max<int64_t>(rank, 1);
  if (dim < -most || dim >= most) {
    fail("names the dimension " + Twine(dim) + " of a tensor of " +
         Twine(rank));
    return 0;
  }
  return dim < 0 ? dim + most : dim;
}

int64_t OpCall::dim(StringRef name, int64_t rank,
                    std::optional<int64_t> fallback) {
  return wrapDim(integer(name, fallback), rank);
}

Shape OpCall::dims(StringRef name, int64_t rank) {
  Shape list = integers(name, Shape());
  if (list.empty())
    for (int64_t dim = 0; dim < rank; ++dim)
      list.push_back(dim);
  if (rank == 0)
    return {};
  for (int64_t &dim : list)
    dim = wrapDim(dim, rank);
  llvm::sort(list);
  return list;
}

DimRange OpCall::slice(ArrayRef<int64_t> shape) {
  DimRange range;
  range.dim = dim("dim", shape.size(), 0);
  range.step = integer("step", 1);
  if (shape.empty())
    fail("slices a tensor of rank 0");
  if (range.step < 1)
    fail("slices with the step " + Twine(range.step) +
         ", which is not positive");
  if (failed())
    return {};
  int64_t size = shape[range.dim];
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  range.start = clamp(integer("start", 0));
  int64_t span = clamp(integer("end", size)) - range.start;
  range.size = span > 0 ? (span - 1) / range.step + 1 : 0;
  if (range.size <= 1)
    range.step = 1; // which may be huge otherwise
  return range;
}

DimRange OpCall::select(ArrayRef<int64_t> shape) {
  int64_t chosen = dim("dim", shape.size()), at = integer("index");
  int64_t size = shape.empty() ? 0 : shape[chosen];
  if (at < -size || at >= size)
    fail("selects the index " + Twine(at) + " of " + Twine(size));
  if (failed())
    return {};
  return {chosen, at < 0 ? at + size : at, 1, 1};
}

const TensorMeta &OpCall::result(unsigned number) {
  static const TensorMeta none;
  if (number < node.results.size()) {
    auto found = graph.tensors.find(node.results[number]);
    if (found != graph.tensors.end())
      return found->second;
  }
  fail("has a result of which the archive says nothing");
  return none;
}

std::vector<const Tensor *> OpCall::allTensors() {
  std::vector<const Tensor *> list;
  for (const NamedArgument &argument : node.arguments)
    if (argument.value.kind == Argument::Kind::Tensor ||
        argument.value.kind == Argument::Kind::Tensors)
      for (const std::string &name : argument.value.names)
        if (!name.empty())
          list.push_back(&lookUp(name));
  return list;
}
