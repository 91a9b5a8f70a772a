//===- ImportGraph.cpp - Makes the ops of a graph's nodes -----------------===//

#include "ImportGraph.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

#include "EvaluateConstants.h"
#include "OutlineModules.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static constexpr StringLiteral gradMode =
    "higher_order.wrap_with_set_grad_enabled";

/// Nodes that check what the archive says anyway, or name sizes.
static bool makesNothing(const Node &node, const Graph &graph) {
  return llvm::none_of(node.results, [&](const std::string &name) {
    return graph.tensors.contains(name);
  });
}

static const Graph *innerGraph(const Node &node) {
  for (const NamedArgument &argument : node.arguments)
    if (argument.value.kind == Argument::Kind::Graph)
      return argument.value.graph.get();
  return nullptr;
}

/// Whether the node writes in place, or one of the graph that it takes does.
static bool writesInPlace(const Node &node) {
  if (!outOfPlace(node.op).empty())
    return true;
  const Graph *inner = innerGraph(node);
  return inner && llvm::any_of(inner->nodes, writesInPlace);
}

Location GraphImporter::locOf(const Node &node) const {
  if (!node.source.file.empty())
    return FileLineColLoc::get(context, node.source.file, node.source.line, 1);
  // A region has no line of its own.
  if (const Graph *inner = innerGraph(node))
    for (const Node &each : inner->nodes)
      if (!each.source.file.empty())
        return locOf(each);
  return FileLineColLoc::get(context, path, 0, 0);
}

//===----------------------------------------------------------------------===//
// Before anything is made
//===----------------------------------------------------------------------===//

/// What a node changes in place is seen through any view of it, so that all
/// such nodes are needed, except those that count batches; and so are those
/// whose numbers are sizes.
void GraphImporter::findNeeded(ArrayRef<std::string> outputs) {
  StringSet<> read;
  for (const std::string &output : outputs)
    read.insert(output);
  for (const Node &node : llvm::reverse(program.graph.nodes)) {
    if (llvm::any_of(node.results, [&](const std::string &result) {
          return statistics.counters.contains(result);
        }))
      continue;
    bool isNeeded = writesInPlace(node) ||
                    llvm::any_of(node.results, [&](const std::string &result) {
                      return read.contains(result) ||
                             (program.graph.symbols.contains(result) &&
                              !program.graph.tensors.contains(result));
                    });
    if (!isNeeded)
      continue;
    needed.insert(&node);
    for (const NamedArgument &argument : node.arguments)
      for (const std::string &name : argument.value.names)
        read.insert(name);
  }
}

void GraphImporter::countReads(const Graph &graph) {
  auto count = [&](const Argument &argument) {
    for (const std::string &name : argument.names)
      ++readsLeft[name];
  };
  for (const Node &node : graph.nodes)
    for (const NamedArgument &argument : node.arguments) {
      count(argument.value);
      if (argument.value.graph)
        countReads(*argument.value.graph);
    }
  for (const Argument &output : graph.outputs)
    count(output);
}

void GraphImporter::noteEvaluationMode(const Graph &graph) {
  bool drops = false, leaves = false;
  for (const Node &node : graph.nodes) {
    if (!StringRef(node.op).starts_with("aten.dropout"))
      continue;
    OpCall call(node, graph, environment);
    (call.flag("train", true) ? drops : leaves) |= call.number("p", 0) > 0;
  }
  if (leaves && !drops)
    notes.push_back("the model was exported in evaluation mode: its dropout "
                    "does nothing; call model.train() before the export");
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Emits the call's error, or one for an argument that would be ignored.
LogicalResult GraphImporter::checkCall(const Node &node, const OpCall &call) {
  std::string contradiction = emit.takeError();
  if (call.failed())
    return error(node) << call.getError();
  if (!contradiction.empty())
    return error(node) << "contradicts what its operands make: "
                       << contradiction << ": save the archive again";
  if (std::string name = call.findIgnoredArgument(); !name.empty())
    return error(node) << "has the argument '" << name
                       << "', which is not supported";
  return success();
}

LogicalResult GraphImporter::addResults(const Node &node, OpCall &call,
                                        std::vector<Value> values) {
  if (failed(checkCall(node, call)))
    return failure();
  for (auto [i, name] : enumerate(node.results)) {
    Value value = i < values.size() ? values[i] : Value();
    if (!value || name.empty())
      continue; // an error where something reads it
    const TensorMeta &meta = call.result(i);
    if (Emitter::shapeOf(value) != ArrayRef(meta.shape) ||
        Emitter::typeOf(value) != meta.type) {
      // PyTorch 2.9 says of the last states of an LSTM another rank.
      if (readsLeft.lookup(name) == 0 && outOfPlace(node.op).empty())
        continue;
      return error(node) << "makes " << value.getType()
                         << ", which is not the type and the shape that the "
                            "archive says: save it again, with the newest "
                            "PyTorch";
    }
    environment.tensors[name] = {
        meta.type, meta.shape, {}, value, nextStorage++};
  }
  return success();
}

LogicalResult GraphImporter::addConstants(const Node &node, OpCall &call) {
  std::vector<HostTensor> results = findEvaluate(call.getOp())(call);
  if (failed(checkCall(node, call)))
    return failure();
  for (auto [i, name] : enumerate(node.results)) {
    if (i >= results.size() || name.empty())
      continue;
    const TensorMeta &meta = call.result(i);
    environment.tensors[name] = {
        meta.type, meta.shape, results[i], {}, nextStorage++};
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The nodes of a region without gradients, inline.
LogicalResult GraphImporter::importInner(const Node &node) {
  const Graph &inner = *innerGraph(node);
  // The flag, the graph, then the graph's inputs.
  ArrayRef<NamedArgument> arguments = node.arguments;
  bool keepsGradients = false;
  if (!arguments.empty() &&
      arguments.front().value.kind == Argument::Kind::Bool)
    keepsGradients = arguments.front().value.ints.front();
  SmallVector<std::string> outer;
  for (const NamedArgument &argument : arguments)
    if (argument.value.kind == Argument::Kind::Tensor)
      outer.push_back(argument.value.names.front());
  SmallVector<std::string> names;
  for (const Argument &input : inner.inputs)
    if (input.kind == Argument::Kind::Tensor)
      names.push_back(input.names.front());
  if (outer.size() != names.size())
    return error(node) << "has " << outer.size() << " tensors, and its graph "
                       << names.size() << " inputs";
  for (auto [from, to] : zip_equal(outer, names))
    if (from != to && environment.tensors.contains(from)) {
      Tensor tensor = environment.tensors.lookup(from);
      tensor.view = {from};
      environment.tensors[to] = tensor;
    }
  bool before = std::exchange(isWithoutGradients, !keepsGradients);
  LogicalResult result = importNodes(inner);
  isWithoutGradients = before;
  if (failed(result))
    return failure();
  for (auto [name, output] : zip(node.results, inner.outputs)) {
    if (output.kind != Argument::Kind::Tensor ||
        !environment.tensors.contains(output.names.front()))
      return error(node) << "has a result that its graph does not make";
    Tensor tensor = environment.tensors.lookup(output.names.front());
    if (tensor.value && !keepsGradients) {
      emit.setLoc(withModules(locOf(node), node));
      tensor.value = emit.make<DetachOp>(tensor.value);
    }
    tensor.view = {};
    environment.tensors[name] = tensor;
  }
  return success();
}

/// A number of a constant ("x.item()") is known. Others are sizes, whose values
/// the archive says.
LogicalResult GraphImporter::importNumber(const Node &node, OpCall &call) {
  bool isItem = node.op == "aten.item.default" ||
                node.op == "aten._local_scalar_dense.default";
  if (!isItem || node.results.size() != 1)
    return success();
  const Tensor &tensor = call.tensor("self");
  if (call.failed())
    return error(node) << call.getError();
  if (!tensor.constant)
    return error(node) << "makes a number of a tensor that is not constant, "
                          "which sizes or branches may depend on";
  if (tensor.constant->getElements() != 1)
    return error(node) << "makes a number of a tensor of several elements";
  environment.symbols[node.results.front()] =
      tensor.constant->getReal(Shape(tensor.getRank(), 0));
  return success();
}

std::string GraphImporter::findTypeThatModelsLack(const Node &node,
                                                  OpCall &call) const {
  for (auto [i, name] : enumerate(node.results)) {
    if (name.empty())
      continue;
    const TensorMeta &meta = call.result(i);
    if (!meta.unknownType.empty())
      return meta.unknownType;
    if (!emit.elementType(meta.type))
      return spell(meta.type).str();
  }
  return "";
}

/// Whether every result is without elements: models have no such tensors, and
/// what reads them joins them with others.
static bool makesEmpty(const Node &node, OpCall &call) {
  for (auto [i, name] : enumerate(node.results))
    if (!name.empty() && countElements(call.result(i).shape) != 0)
      return false;
  return !node.results.empty() && !call.failed();
}

LogicalResult GraphImporter::computeResults(const Node &node,
                                            const Graph &graph) {
  OpCall call(node, graph, environment);
  bool isConstant = readsShapes(call.getOp()) ||
                    llvm::all_of(call.allTensors(), [](const Tensor *tensor) {
                      return tensor->constant.has_value();
                    });
  if (call.failed())
    return error(node) << call.getError();
  if (isConstant && findEvaluate(call.getOp()))
    return addConstants(node, call);
  const OpRow *row = findOpRow(call.getOp());
  if (!row)
    return error(node) << "is not supported";
  emit.setLoc(withModules(locOf(node), node));
  if (std::string type = findTypeThatModelsLack(node, call); !type.empty())
    return error(node) << "makes a tensor of " << type
                       << ", which models do not have: compute in float32, "
                          "float64, bfloat16, int32, int64 or bool";
  if (makesEmpty(node, call)) {
    for (auto [i, name] : enumerate(node.results)) {
      const TensorMeta &meta = call.result(i);
      environment.tensors[name] = {meta.type,
                                   meta.shape,
                                   HostTensor(meta.type, meta.shape),
                                   {},
                                   nextStorage++};
    }
    return success();
  }
  if (!call.getOp().starts_with("aten.cat."))
    for (const Tensor *tensor : call.allTensors())
      if (countElements(tensor->shape) == 0)
        return error(node) << "reads a tensor without elements, which models "
                              "do not have";
  return addResults(node, call, row->build(call, emit));
}

/// Numbers of batches are those of the export, and nothing may read them.
LogicalResult GraphImporter::checkCounters(const Node &node) const {
  for (const NamedArgument &argument : node.arguments)
    for (const std::string &name : argument.value.names)
      if (statistics.counters.contains(name))
        return error(node) << "reads '" << name
                           << "', a number of batches, which models do not "
                              "count: give the batch norm a momentum";
  return success();
}

LogicalResult GraphImporter::importNode(const Node &node, const Graph &graph) {
  if (failed(checkCounters(node)))
    return failure();
  if (innerGraph(node)) {
    if (node.op != gradMode)
      return error(node) << "is not supported: export without it"
                         << (node.op == "higher_order.wrap_with_autocast"
                                 ? ", and compile with --precision bf16"
                                 : "");
    return importInner(node);
  }
  if (makesNothing(node, graph)) {
    OpCall call(node, graph, environment);
    return importNumber(node, call);
  }
  FailureOr<bool> selects = importSelection(node, graph);
  if (failed(selects))
    return failure();
  OpCall call(node, graph, environment);
  bool isSelected = llvm::any_of(call.allTensors(), [](const Tensor *tensor) {
    return bool(tensor->kept);
  });
  if (isSelected && outOfPlace(node.op).empty())
    return importSelected(node, graph);
  if (isSelected)
    return error(node) << "changes rows in place that a boolean mask selects: "
                          "write it out of place";
  if (*selects)
    return success();
  if (failed(computeResults(node, graph)))
    return failure();
  linkViews(node, graph);
  return outOfPlace(node.op).empty() ? success() : replaceInPlace(node);
}

bool GraphImporter::readsMissing(const Node &node) const {
  return llvm::any_of(node.arguments, [&](const NamedArgument &argument) {
    return llvm::any_of(argument.value.names, [&](const std::string &name) {
      return missing.contains(name);
    });
  });
}

LogicalResult GraphImporter::importNodes(const Graph &graph) {
  LogicalResult result = success();
  for (const Node &node : graph.nodes) {
    for (const NamedArgument &argument : node.arguments)
      for (const std::string &name : argument.value.names)
        --readsLeft[name];
    if (&graph == &program.graph && !needed.contains(&node))
      continue;
    bool isMissing = readsMissing(node);
    if (!isMissing && succeeded(importNode(node, graph)))
      continue;
    result = failure();
    missing.insert_range(node.results);
  }
  return result;
}

LogicalResult GraphImporter::run(ArrayRef<std::string> outputs) {
  findNeeded(outputs);
  countReads(program.graph);
  noteEvaluationMode(program.graph);
  if (failed(importNodes(program.graph)))
    return failure();
  for (const std::string &output : outputs)
    if (!environment.tensors.contains(output)) {
      emitError(FileLineColLoc::get(context, path, 0, 0))
          << "returns '" << output << "', which cannot be computed";
      return failure();
    }
  return success();
}
