//===- ImportWrites.cpp - Writes in place, through views ------------------===//
//
// PyTorch writes to the elements that views share. Here a write gives the
// written name another tensor; so each tensor of which it is a view is made
// anew with the written part in its place, and each other view is taken again.
//
//===----------------------------------------------------------------------===//

#include "ImportGraph.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "BuildShape.h"
#include "BuildWrites.h"
#include "Evaluate.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
enum class ViewKind {
  None,
  Same,  ///< another name
  Shape, ///< all elements, in row-major order
  Order, ///< all elements, with dimensions in another order
  Part,  ///< a range along a dimension
  Diagonal,
  Read,    ///< elements that are written to through other views alone
  Perhaps, ///< a view or a copy: strides decide
};
} // namespace

static ViewKind viewKindOf(StringRef op) {
  std::string canonical = canonicalName(op);
  StringRef name = StringRef(canonical).rsplit('.').first;
  name.consume_front("aten.");
  return llvm::StringSwitch<ViewKind>(name)
      .Case("alias", ViewKind::Same)
      .Cases({"view", "view_as", "unsqueeze", "squeeze", "unflatten",
              "atleast_1d", "atleast_2d", "atleast_3d"},
             ViewKind::Shape)
      .Cases(
          {"permute", "transpose", "t", "swapaxes", "mT", "numpy_T", "movedim"},
          ViewKind::Order)
      .Cases({"slice", "select", "narrow", "split", "split_with_sizes", "chunk",
              "tensor_split", "unbind"},
             ViewKind::Part)
      .Case("diagonal", ViewKind::Diagonal)
      .Cases({"detach", "expand", "expand_as", "broadcast_to",
              "broadcast_tensors", "meshgrid", "unfold", "hsplit", "vsplit",
              "dsplit"},
             ViewKind::Read)
      .Cases({"reshape", "reshape_as", "flatten", "ravel", "contiguous", "to",
              "type_as"},
             ViewKind::Perhaps)
      .Default(ViewKind::None);
}

static ViewKind viewKindOf(const ViewOf &view) {
  return view.node ? viewKindOf(view.node->op) : ViewKind::Same;
}

void GraphImporter::linkViews(const Node &node, const Graph &graph) {
  if (viewKindOf(node.op) == ViewKind::None)
    return;
  const Argument *viewed = nullptr;
  for (const NamedArgument &argument : node.arguments)
    if (!viewed && (argument.value.kind == Argument::Kind::Tensor ||
                    argument.value.kind == Argument::Kind::Tensors))
      viewed = &argument.value;
  for (auto [i, name] : enumerate(node.results)) {
    auto result = environment.tensors.find(name);
    if (!viewed || viewed->names.empty() || result == environment.tensors.end())
      continue;
    // Of a list, each result is a view of one.
    StringRef base = viewed->names[i < viewed->names.size() ? i : 0];
    auto found = environment.tensors.find(base);
    if (found == environment.tensors.end())
      continue;
    int64_t &storage = found->second.storage;
    if (storage == 0)
      storage = nextStorage++;
    result->second.storage = storage;
    result->second.view = {base.str(), &node, &graph};
  }
}

/// The range of its base that a view of the kind Part shows.
static DimRange readRange(OpCall &call, ArrayRef<int64_t> shape,
                          StringRef result) {
  StringRef op = call.getOp();
  if (op.starts_with("aten.slice."))
    return call.slice(shape);
  if (op.starts_with("aten.select."))
    return call.select(shape);
  DimRange range{call.dim("dim", shape.size(), 0), 0, 1, 1};
  if (op.starts_with("aten.narrow.")) {
    range.start = call.integer("start");
    range.size = call.integer("length");
    if (range.start < 0 && !shape.empty())
      range.start += shape[range.dim];
    return range;
  }
  bool unbinds = op.starts_with("aten.unbind.");
  for (auto [i, name] : enumerate(call.getNode().results)) {
    range.size = unbinds ? 1 : call.result(i).shape[range.dim];
    if (name == result)
      break;
    range.start += range.size;
  }
  return range;
}

/// `whole` with `value` in place of the view that the call makes of it.
static Value writePart(OpCall &call, Emitter &emit, ViewKind kind, Value whole,
                       Value value, StringRef name) {
  if (kind == ViewKind::Diagonal)
    return replaceDiagonal(call, emit, whole, value);
  if (kind == ViewKind::Order) {
    std::vector<Value> moved = findOpRow(call.getOp())->build(call, emit);
    if (call.failed() || moved.empty())
      return whole;
    auto op = moved.front().getDefiningOp<TransposeOp>();
    bool isMoved = op && op.getX() == whole;
    return isMoved
               ? emit.transpose(value, invertPermutationVector(op.getPerm()))
               : value;
  }
  DimRange range = readRange(call, Emitter::shapeOf(whole), name);
  if (call.failed())
    return whole;
  Shape shape(Emitter::shapeOf(whole));
  shape[range.dim] = range.size;
  return replaceRange(emit, whole, emit.reshape(value, shape), range);
}

//===----------------------------------------------------------------------===//
// What may be written to
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::checkWritable(const Node &node,
                                           StringRef root) const {
  for (const InputSpec &input : program.inputs) {
    if (input.value != root || input.kind == InputSpec::Kind::User ||
        input.kind == InputSpec::Kind::UserConstant)
      continue;
    StringRef kind = input.kind == InputSpec::Kind::Buffer      ? "buffer"
                     : input.kind == InputSpec::Kind::Parameter ? "parameter"
                                                                : "constant";
    return error(node) << "updates the " << kind << " '" << input.name
                       << "', which models cannot yet: export in evaluation "
                          "mode, or use a module without it";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// `chain` goes from the tensor that was written to, of which each next one is
/// the base, to the one that is no view.
LogicalResult GraphImporter::writeToBases(const Node &node,
                                          ArrayRef<std::string> chain) {
  for (auto [name, base] : llvm::zip(chain, chain.drop_front())) {
    const Tensor &part = environment.tensors[name];
    Tensor &whole = environment.tensors[base];
    Value value = emit.value(part);
    ViewKind kind = viewKindOf(part.view);
    if (kind == ViewKind::Read || kind == ViewKind::Perhaps)
      return error(node)
             << "changes a tensor in place that is a view by '"
             << part.view.node->op
             << "', and what it is of is read afterwards: write it out of "
                "place";
    if (kind == ViewKind::Shape)
      value = emit.reshape(value, whole.shape);
    if (kind != ViewKind::Same && kind != ViewKind::Shape) {
      OpCall call(*part.view.node, *part.view.graph, environment);
      value = writePart(call, emit, kind, emit.value(whole), value, name);
      if (call.failed())
        return error(*part.view.node) << call.getError();
    }
    if (std::string why = emit.takeError(); !why.empty())
      return error(node) << why;
    whole.value = value;
    whole.constant.reset();
  }
  return success();
}

/// The views of a new copy of the last one, in whose elements the first one's
/// are written.
LogicalResult GraphImporter::writeToConstants(const Node &node,
                                              ArrayRef<std::string> chain) {
  OpCall writer(node, program.graph, environment);
  HostTensor written = *environment.tensors[chain.front()].constant;
  std::vector<HostTensor> copy =
      copyElements(writer, *environment.tensors[chain.back()].constant);
  if (writer.failed())
    return error(node) << writer.getError();
  environment.tensors[chain.back()].constant = copy.front();
  for (size_t i = chain.size() - 1; i > 0; --i) {
    Tensor &tensor = environment.tensors[chain[i - 1]];
    const ViewOf &view = tensor.view;
    if (!view.node) {
      tensor.constant = environment.tensors[chain[i]].constant;
      continue;
    }
    OpCall call(*view.node, *view.graph, environment);
    Evaluate evaluate = findEvaluate(call.getOp());
    if (viewKindOf(view) == ViewKind::Perhaps || !evaluate)
      return error(node) << "changes a tensor in place that may be a view by '"
                         << view.node->op
                         << "', and what it is of is read afterwards: write "
                            "it out of place";
    std::vector<HostTensor> results = evaluate(call);
    if (call.failed())
      return error(*view.node) << call.getError();
    auto at = llvm::find(view.node->results, chain[i - 1]);
    tensor.constant = results[at - view.node->results.begin()];
  }
  HostTensor &shared = *environment.tensors[chain.front()].constant;
  HostTensor::forEachIndex(shared.getShape(), [&](ArrayRef<int64_t> index) {
    shared.set(index, written.get(index));
  });
  return success();
}

/// Makes the view anew, after those of which it is one.
LogicalResult GraphImporter::viewAgain(const Node &writer, StringRef name,
                                       StringSet<> &current) {
  if (!current.insert(name).second)
    return success();
  ViewOf view = environment.tensors[name].view;
  if (view.base.empty() || viewKindOf(view) == ViewKind::Perhaps)
    return error(writer) << "changes a tensor in place of which a view is read "
                            "afterwards: write it out of place";
  if (failed(viewAgain(writer, view.base, current)))
    return failure();
  if (view.node) {
    if (failed(computeResults(*view.node, *view.graph)))
      return failure();
    linkViews(*view.node, *view.graph);
    return success();
  }
  const Tensor &base = environment.tensors[view.base];
  Tensor &tensor = environment.tensors[name];
  tensor.constant = base.constant;
  tensor.value = base.value;
  return success();
}

/// Whether a gradient goes from the value to a parameter.
static bool hasGradient(Value value) {
  SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || isa<DetachOp>(op) || !seen.insert(op).second)
      continue;
    if (isa<ParamOp>(op))
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

LogicalResult GraphImporter::replaceInPlace(const Node &node) {
  std::string self;
  for (const NamedArgument &argument : node.arguments)
    if (argument.value.kind == Argument::Kind::Tensor) {
      self = argument.value.names.front();
      break;
    }
  auto &tensors = environment.tensors;
  if (!tensors.contains(self) || node.results.empty())
    return success();
  std::string result = node.results.front();
  if (!tensors.contains(result))
    return error(node) << "has no result in place of '" << self << "'";
  if (viewKindOf(node.op) != ViewKind::None) {
    // squeeze_ and detach_ change no element; what it was of is not known then.
    Tensor seen = tensors[result];
    seen.view = {};
    tensors[self] = seen;
    return success();
  }
  SmallVector<std::string> chain = {self};
  while (!tensors[chain.back()].view.base.empty())
    chain.push_back(tensors[chain.back()].view.base);
  if (failed(checkWritable(node, chain.back())))
    return failure();
  // PyTorch's backward does not know of such a write.
  if (Value before = tensors[self].value;
      isWithoutGradients && before && hasGradient(before))
    return error(node) << "changes a tensor in place without gradients that "
                          "has one: write it out of place, or detach it";

  Tensor &own = tensors[self];
  own.constant = tensors[result].constant;
  own.value = tensors[result].value;
  if (own.storage == 0)
    own.storage = nextStorage++;
  Tensor named = own;
  named.view = {self};
  tensors[result] = named;
  SmallVector<std::string> readLater;
  for (const auto &other : tensors)
    if (other.first() != self && other.first() != result &&
        other.second.storage == named.storage &&
        readsLeft.lookup(other.first()) > 0)
      readLater.push_back(other.first().str());
  if (readLater.empty())
    return success();
  llvm::sort(readLater); // the same ops each time
  // Up to the last base that is read, or viewed by what is.
  size_t last = 0;
  for (const std::string &name : readLater) {
    std::string base = name;
    auto at = llvm::find(chain, base);
    while (at == chain.end() && !base.empty()) {
      base = tensors[base].view.base;
      at = llvm::find(chain, base);
    }
    if (at == chain.end())
      return error(node) << "changes a tensor in place of which a view is read "
                            "afterwards: write it out of place";
    last = std::max<size_t>(last, at - chain.begin());
  }
  chain.truncate(last + 1);
  emit.setLoc(locOf(node));
  bool isConstant = named.constant && tensors[chain.back()].constant;
  if (failed(isConstant ? writeToConstants(node, chain)
                        : writeToBases(node, chain)))
    return failure();
  StringSet<> current;
  current.insert(result);
  for (const std::string &name : chain)
    current.insert(name);
  for (const std::string &name : readLater)
    if (failed(viewAgain(node, name, current)))
      return failure();
  return success();
}
