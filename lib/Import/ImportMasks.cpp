//===- ImportMasks.cpp - Rows that a boolean mask selects -----------------===//
//
// How many rows x[mask] has is known only in the run, and models have sizes
// that are numbers. So all rows are kept, with the mask beside them: what is
// computed of each row is computed of all, and sums, means and losses leave out
// those that the mask does not select. These hold a constant, so that nothing
// that is computed of them reaches a gradient.
//
//===----------------------------------------------------------------------===//

#include "ImportGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// The mask of masked_select, or of x[mask]; null if the call is neither.
static const Tensor *findMask(OpCall &call) {
  if (call.getOp() == "aten.masked_select.default")
    return &call.tensor("mask");
  if (call.getOp() != "aten.index.Tensor")
    return nullptr;
  std::vector<const Tensor *> indices = call.optionalTensors("indices");
  bool isMask = indices.size() == 1 && indices.front() &&
                indices.front()->type == Dtype::boolean;
  return isMask ? indices.front() : nullptr;
}

/// The mask by rows, with a unit dimension for each other one of `value`.
static Value alignMask(Emitter &emit, Value kept, Value value) {
  Shape shape(Emitter::rankOf(value), 1);
  shape[0] = Emitter::shapeOf(kept)[0];
  return emit.reshape(kept, shape);
}

FailureOr<bool> GraphImporter::importSelection(const Node &node,
                                               const Graph &graph) {
  OpCall call(node, graph, environment);
  const Tensor *mask = findMask(call);
  if (!mask || call.failed() || node.results.size() != 1)
    return false;
  const Tensor &self = call.tensor("self");
  bool isElementwise = call.getOp() == "aten.masked_select.default";
  Shape whole = self.shape, rows = mask->shape;
  emit.setLoc(locOf(node));
  if (isElementwise) {
    if (mask->getRank() > self.getRank())
      return error(node) << "has a mask of more dimensions than its tensor";
    rows = whole;
  }
  bool fits = !rows.empty() && rows.size() <= whole.size() &&
              ArrayRef(whole).take_front(rows.size()) == ArrayRef(rows);
  if (!fits || self.kept || mask->kept)
    return error(node) << "has a mask that does not fit its tensor, or selects "
                          "twice";
  int64_t count = countElements(rows);
  Value kept = emit.value(*mask);
  if (isElementwise)
    kept = emit.broadcastTo(kept, rows);
  kept = emit.reshape(kept, {count});
  Shape shape = {count};
  shape.append(whole.begin() + rows.size(), whole.end());
  Value x = emit.reshape(emit.value(self), shape);
  // No function of it is infinite.
  Value other = emit.number(self.type, isFloat(self.type) ? 0.5 : 0);
  x = emit.select(alignMask(emit, kept, x), x, other);
  if (std::string why = emit.takeError(); !why.empty())
    return error(node) << why;
  Tensor result{self.type, shape, {}, x, nextStorage++};
  result.kept = kept;
  environment.tensors[node.results.front()] = result;
  return true;
}

//===----------------------------------------------------------------------===//
// What is computed of them
//===----------------------------------------------------------------------===//

/// Whether two values are computed by the same ops of the same values.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  return one && other &&
         OperationEquivalence::isEquivalentTo(
             one, other, [](Value x, Value y) { return success(isSame(x, y)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

/// Ops that compute each row of the first dimension apart.
static bool isByRow(OpCall &call) {
  StringRef op = call.getOp();
  for (ArrayRef<OpRow> rows : {elementwiseRows(), formulaRows()})
    for (const OpRow &row : rows)
      if (row.op == op)
        return true;
  if (op.contains("softmax."))
    return call.dim("dim", call.tensor("self").getRank()) > 0;
  return op == "aten.linear.default" || op == "aten.layer_norm.default" ||
         op == "aten.dropout.default";
}

static bool isLossOfElements(StringRef op) {
  return is_contained({"aten.mse_loss.default", "aten.l1_loss.default",
                       "aten.smooth_l1_loss.default", "aten.huber_loss.default",
                       "aten.binary_cross_entropy.default",
                       "aten.binary_cross_entropy_with_logits.default",
                       "aten.soft_margin_loss.default"},
                      op);
}

static bool isLossOfClasses(StringRef op) {
  return is_contained({"aten.cross_entropy_loss.default",
                       "aten.nll_loss.default", "aten.nll_loss_nd.default",
                       "aten.nll_loss_forward.default"},
                      op);
}

/// The sum over all elements of the rows that are kept, or the mean.
static Value reduceKept(Emitter &emit, Value x, Value kept, bool isMean) {
  Dtype type = Emitter::typeOf(x);
  Shape dims;
  int64_t others = 1;
  for (int64_t dim = 0; dim < Emitter::rankOf(x); ++dim) {
    dims.push_back(dim);
    others *= dim == 0 ? 1 : Emitter::shapeOf(x)[dim];
  }
  x = emit.select(alignMask(emit, kept, x), x, emit.number(type, 0));
  Value sum = emit.reduce(ReduceKind::Sum, x, dims, /*keepDims=*/false);
  if (!isMean)
    return sum;
  Value count =
      emit.reduce(ReduceKind::Sum, emit.castTo(emit.toInteger(kept), type), {0},
                  /*keepDims=*/false);
  return emit.div(sum, emit.scale(count, double(others)));
}

/// The graph with the results of a node, whose unknown sizes are `rows`.
static Graph describeResults(const Node &node, const Graph &graph,
                             int64_t rows) {
  Graph all;
  for (const std::string &name : node.results)
    if (auto found = graph.tensors.find(name); found != graph.tensors.end()) {
      TensorMeta meta = found->second;
      if (!meta.shape.empty() && meta.shape[0] < 0)
        meta.shape[0] = rows;
      all.tensors[name] = meta;
    }
  return all;
}

/// Computes a node of which an operand has rows that a mask selects.
LogicalResult GraphImporter::importSelected(const Node &node,
                                            const Graph &graph) {
  OpCall call(node, graph, environment);
  Value kept;
  int64_t rank = 0;
  for (const Tensor *tensor : call.allTensors())
    if (tensor->kept && !kept) {
      kept = tensor->kept;
      rank = tensor->getRank();
    }
  StringRef op = call.getOp();
  int64_t rows = Emitter::shapeOf(kept)[0];
  for (const Tensor *tensor : call.allTensors()) {
    bool isFit = tensor->kept
                     ? isSame(tensor->kept, kept)
                     : tensor->getRank() < rank || op == "aten.linear.default";
    if (!isFit)
      return error(node) << "joins rows that a boolean mask selects with "
                            "others: select both by the same mask";
  }
  emit.setLoc(locOf(node));
  Graph all = describeResults(node, graph, rows);
  Node elements = node;
  bool isSum = op.starts_with("aten.sum."),
       isMean = op.starts_with("aten.mean.");
  bool isOfAll = int64_t(call.dims("dim", rank).size()) == rank &&
                 !call.flag("keepdim", false);

  if ((isSum || isMean) && isOfAll) {
    Value x = emit.operand(call, "self", call.result().type);
    call.dtype("dtype");
    return addResults(node, call, {reduceKept(emit, x, kept, isMean)});
  }
  if (isLossOfClasses(op) && call.integer("reduction", 1) != 0 &&
      !isFloat(call.tensor("target").type)) {
    // The loss leaves out targets to ignore.
    for (const NamedArgument &argument : node.arguments)
      if (argument.name == "target" &&
          argument.value.kind == Argument::Kind::Tensor) {
        Tensor &target = environment.tensors[argument.value.names.front()];
        Tensor before = target;
        Value ids = emit.value(target);
        Value ignored = emit.number(target.type,
                                    double(call.integer("ignore_index", -100)));
        target.value = emit.select(alignMask(emit, kept, ids), ids, ignored);
        LogicalResult result = computeResults(node, all);
        environment.tensors[argument.value.names.front()] = before;
        return result;
      }
  }
  if (isLossOfElements(op)) {
    int64_t reduction = call.integer("reduction", 1);
    erase_if(elements.arguments, [](const NamedArgument &argument) {
      return argument.name == "reduction";
    });
    NamedArgument none{"reduction", {}};
    none.value.kind = Argument::Kind::Int;
    none.value.ints = {0};
    elements.arguments.push_back(none);
    all.tensors[node.results.front()].shape = call.tensor("self").shape;
    if (failed(computeResults(elements, all)))
      return failure();
    Tensor &losses = environment.tensors[node.results.front()];
    losses.kept = kept;
    if (reduction == 0)
      return success();
    losses.value =
        reduceKept(emit, losses.value, kept, /*isMean=*/reduction == 1);
    losses.shape = {};
    losses.kept = {};
    return success();
  }
  if (op == "aten.broadcast_tensors.default") {
    for (auto [name, tensor] :
         llvm::zip(node.results, call.tensors("tensors"))) {
      if (tensor->shape != all.tensors[name].shape)
        return error(node) << "broadcasts rows that a boolean mask selects";
      Tensor same = *tensor;
      environment.tensors[name] = same;
    }
    return success();
  }
  if (!isByRow(call) ||
      graph.tensors.lookup(node.results.front()).shape.empty())
    return error(node) << "reads rows that a boolean mask selects, of which "
                          "only elementwise ops, means, sums and losses are "
                          "supported: use torch.where or masked_fill";
  if (failed(computeResults(node, all)))
    return failure();
  for (const std::string &name : node.results)
    if (!name.empty() && environment.tensors.contains(name))
      environment.tensors[name].kept = kept;
  return success();
}
