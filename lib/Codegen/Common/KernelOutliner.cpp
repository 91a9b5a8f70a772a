//===- KernelOutliner.cpp - Kernels of a module, shared by launches -------===//

#include "KernelOutliner.h"

#include "Sweeps.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The body of one kernel during construction.
class KernelBody {
public:
  KernelBody(const Cluster &cluster, TaskFusion &fusion)
      : cluster(cluster), fusion(fusion),
        builder(cluster.ops.front()->getContext()) {
    kernel = KernelOp::create(builder, cluster.ops.front()->getLoc(), "kernel",
                              builder.getFunctionType({}, {}));
    body = builder.createBlock(&kernel.getBody());
  }

  void build() {
    for (Operation *op : cluster.ops)
      clone(op);
    SmallVector<Value> returned;
    for (Operation *op : cluster.ops)
      for (Value result : op->getResults())
        if (fusion.isUsedOutside(result, cluster)) {
          outputs.push_back(result);
          returned.push_back(map.lookup(result));
        }
    builder.setInsertionPointToEnd(body);
    ReturnOp::create(builder, kernel.getLoc(), returned);
    kernel.setFunctionType(builder.getFunctionType(
        body->getArgumentTypes(), ValueRange(returned).getTypes()));
    setForm(kernel, cluster.form);
  }

  KernelOp kernel;
  SmallVector<Value> inputs, outputs;

private:
  /// Returns whether a value is computed in the kernel, from the cluster's
  /// values or by lazy ops.
  bool isComputedHere(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def)
      return false;
    if (fusion.isLazy(def) || fusion.getCluster(def) == &cluster)
      return true;
    return isReshape(def) && isComputedHere(def->getOperand(0));
  }

  Value resolve(Value value) {
    if (Value known = map.lookupOrNull(value))
      return known;
    if (isComputedHere(value)) {
      clone(value.getDefiningOp());
      return map.lookup(value);
    }
    Value argument = body->addArgument(value.getType(), value.getLoc());
    map.map(value, argument);
    inputs.push_back(value);
    return argument;
  }

  void clone(Operation *op) {
    for (Value operand : op->getOperands())
      resolve(operand);
    builder.setInsertionPointToEnd(body);
    builder.clone(*op, map);
  }

  const Cluster &cluster;
  TaskFusion &fusion;
  OpBuilder builder;
  Block *body;
  IRMapping map;
};

} // namespace

/// Returns whether a kernel takes the buffer of `value` once: buffers that it
/// writes do not overlap others.
static bool isTakenOnce(Value value, ArrayRef<Value> inputs) {
  return llvm::count_if(inputs, [&](Value input) {
           return skipReshapes(input) == skipReshapes(value);
         }) == 1;
}

/// Returns whether each element of `value` that the cluster reads is read where
/// the same element of its results is computed, before any reduction.
static bool isReadAtSameIndex(Value value, const Cluster &cluster,
                              TaskFusion &fusion) {
  for (Operation *op : cluster.ops) {
    if (!isa<ElementOpInterface>(op))
      return false;
    for (const Read &read : fusion.getReads(op).reads)
      if (read.source == value && read.access != Access::Identity)
        return false;
  }
  return true;
}

/// Returns the argument of the task that `value`, a result of the cluster, is
/// tied to, or its accumulator: it may be overwritten.
static Value getOverwritten(Value value, const Cluster &cluster,
                            TaskFusion &fusion) {
  if (auto formOp = value.getDefiningOp<KernelFormOpInterface>())
    return formOp.getOverwritten(value);
  Value accumulator = value;
  while (auto accumulate = accumulator.getDefiningOp<AccumulateOp>()) {
    if (!fusion.isInPlace(accumulate) ||
        fusion.getCluster(accumulate) != &cluster)
      break;
    accumulator = accumulate.getAccumulator();
  }
  if (accumulator != value)
    return accumulator;
  auto task = cast<TaskOp>(value.getDefiningOp()->getParentOp());
  for (OpOperand &use : value.getUses()) {
    if (!isa<ReturnOp>(use.getOwner()))
      continue;
    std::optional<unsigned> tied = task.getTiedArgument(use.getOperandNumber());
    if (!tied)
      continue;
    Value argument = task.getBody().getArgument(*tied);
    if (argument.getType() == value.getType() &&
        !fusion.isUsedOutside(argument, cluster) &&
        isReadAtSameIndex(argument, cluster, fusion))
      return argument;
  }
  return Value();
}

namespace {

/// Finds the result of a library's call that a result of a cluster of form Rows
/// may overwrite because the cluster is its only reader.
class LastReads {
public:
  LastReads(const Cluster &cluster, TaskFusion &fusion, KernelOp kernel,
            ArrayRef<Value> inputs, ArrayRef<Value> outputs)
      : cluster(cluster), fusion(fusion), inputs(inputs), outputs(outputs),
        body(kernel.getBody().front()), sweeps(kernel) {}

  /// Returns null if there is none. Returns each input once.
  Value find(unsigned result) {
    Value output = outputs[result];
    if (cluster.form != KernelForm::Rows || isPlaced(output) || !isLast(result))
      return Value();
    for (Value input : inputs)
      if (input.getDefiningOp<LibraryCallOpInterface>() &&
          input.getType() == output.getType() &&
          !fusion.isUsedOutside(input, cluster) && isReadInSweeps(input) &&
          isTakenOnce(input, inputs) && taken.insert(input).second)
        return input;
    return Value();
  }

private:
  /// Returns whether the value's buffer is determined elsewhere.
  bool isPlaced(Value output) const {
    return llvm::any_of(output.getUsers(), [&](Operation *user) {
      if (isReshape(user))
        return isPlaced(user->getResult(0));
      return isa<ReturnOp>(user) || fusion.isMemoryView(user);
    });
  }

  /// Returns whether nothing of the row is read after the sweep that writes the
  /// result.
  bool isLast(unsigned result) {
    ValueRange returned = body.getTerminator()->getOperands();
    int64_t last = sweeps.get(returned[result]);
    auto isUntil = [&](Value value) { return sweeps.get(value) <= last; };
    return llvm::all_of(returned, isUntil) &&
           llvm::all_of(body.getOps<ReduceOp>(), [&](ReduceOp reduction) {
             return isUntil(reduction.getX());
           });
  }

  /// Returns whether each element is read where the same element of the results
  /// is computed.
  bool isReadInSweeps(Value input) {
    return llvm::all_of(cluster.ops, [&](Operation *op) {
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        Operation *def = reduce.getX().getDefiningOp();
        return !def || !(fusion.isLazy(def) || isReshape(def));
      }
      return llvm::all_of(fusion.getReads(op).reads, [&](const Read &read) {
        return read.source != input || read.access == Access::Identity;
      });
    });
  }

  const Cluster &cluster;
  TaskFusion &fusion;
  ArrayRef<Value> inputs, outputs;
  Block &body;
  Sweeps sweeps;
  DenseSet<Value> taken;
};

} // namespace

/// Returns a name: "add_gelu_8x128x512" has up to four ops, and the space.
static std::string describe(KernelOp kernel, const Cluster &cluster) {
  if (Operation *op = cluster.ops.front(); usesStrides(*op)) {
    std::string name = op->getName().stripDialect().str();
    for (auto [i, size] : llvm::enumerate(kernel.getFormAttr().getSizes()))
      name += (i == 0 ? "_" : "x") + std::to_string(size);
    return name;
  }
  SmallVector<StringRef> parts;
  for (Operation &op : kernel.getBody().front()) {
    StringRef name = op.getName().stripDialect();
    if (isa<ReturnOp, ConstantOp, BroadcastOp, IotaOp>(op) || isReshape(&op) ||
        llvm::is_contained(parts, name))
      continue;
    if (parts.size() == 4)
      break;
    parts.push_back(name);
  }
  std::string text = llvm::join(parts, "_");
  if (text.empty())
    text = "copy";
  return text + "_" + std::to_string(cluster.space.rows) + "x" +
         std::to_string(cluster.space.columns);
}

namespace {

/// Writes what tells kernels apart: ops, attributes and types, which are unique
/// in a context, by their addresses; values by their numbers.
class KeyWriter {
public:
  std::string write(KernelOp kernel, ArrayRef<int64_t> inplace) {
    add(kernel);
    for (int64_t argument : inplace)
      add(argument);
    return std::move(key);
  }

private:
  void add(Operation *op) {
    add(op->getName().getAsOpaquePointer());
    add(op->getAttrDictionary().getAsOpaquePointer());
    add(op->getNumOperands());
    for (Value operand : op->getOperands())
      add(numbers.lookup(operand));
    number(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        number(block.getArguments());
        add(block.getOperations().size());
        for (Operation &each : block)
          add(&each);
      }
  }
  void number(ValueRange values) {
    add(values.size());
    for (Value value : values) {
      numbers.try_emplace(value, numbers.size());
      add(value.getType().getAsOpaquePointer());
    }
  }
  void add(const void *address) { add(reinterpret_cast<uintptr_t>(address)); }
  void add(uint64_t word) {
    key.append(reinterpret_cast<const char *>(&word), sizeof(word));
  }

  std::string key;
  DenseMap<Value, size_t> numbers;
};

} // namespace

/// Creates the launch of a kernel that asks for a name.
LaunchOp KernelOutliner::launch(KernelOp kernel, StringRef name, Location loc,
                                ValueRange inputs, ArrayRef<int64_t> inplace,
                                OpBuilder &builder) {
  std::string key = KeyWriter().write(kernel, inplace);
  kernel.setSymName(name);
  auto launch =
      LaunchOp::create(builder, loc, kernel.getFunctionType().getResults(),
                       name, inputs, ValueRange(), inplace);
  kernels.push_back({kernel, launch, std::move(key)});
  return launch;
}

KernelSharing::KernelSharing(ModuleOp module) : module(module) {
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      names[symbol.getName()] = 1;
}

void KernelSharing::add(OutlinedKernel &outlined) {
  auto [it, isNew] = kernels.try_emplace(outlined.key);
  if (isNew) {
    KernelOp kernel = outlined.kernel.release();
    module.push_back(kernel);
    std::string wanted = kernel.getSymName().str();
    unsigned &count = names[wanted];
    it->second = count == 0 ? wanted : wanted + "_" + std::to_string(count);
    ++count;
    kernel.setSymName(it->second);
  }
  outlined.launch.setKernel(it->second);
}

LaunchOp KernelOutliner::outline(const Cluster &cluster, TaskFusion &fusion,
                                 OpBuilder &builder) {
  KernelBody body(cluster, fusion);
  body.build();
  SmallVector<int64_t> inplace;
  LastReads lastReads(cluster, fusion, body.kernel, body.inputs, body.outputs);
  for (auto [i, output] : llvm::enumerate(body.outputs)) {
    Value overwritten = getOverwritten(output, cluster, fusion);
    if (!overwritten)
      overwritten = lastReads.find(i);
    const auto *input = llvm::find(body.inputs, overwritten);
    if (input != body.inputs.end() && !isTakenOnce(overwritten, body.inputs))
      input = body.inputs.end();
    inplace.push_back(input == body.inputs.end() ? -1
                                                 : input - body.inputs.begin());
  }
  auto locs = llvm::map_to_vector(cluster.ops,
                                  [](Operation *op) { return op->getLoc(); });
  LaunchOp launched = launch(body.kernel, describe(body.kernel, cluster),
                             FusedLoc::get(builder.getContext(), locs),
                             body.inputs, inplace, builder);
  for (auto [output, result] : llvm::zip(body.outputs, launched.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      return fusion.getCluster(use.getOwner()) != &cluster;
    });
  return launched;
}

static std::string nameOf(StringRef what, Type type) {
  Space space = getSpace(cast<RankedTensorType>(type).getShape());
  return (what + "_" + Twine(space.rows) + "x" + Twine(space.columns)).str();
}

/// Creates the launch of a kernel with one result.
LaunchOp KernelOutliner::launchAlone(KernelOp kernel, StringRef name,
                                     ValueRange inputs, OpBuilder &builder) {
  setForm(kernel, KernelForm::Rows);
  return launch(kernel, name, kernel.getLoc(), inputs, /*inplace=*/-1, builder);
}

LaunchOp KernelOutliner::outlineCopy(Value value, OpBuilder &builder) {
  OpBuilder inKernel(builder.getContext());
  Type type = value.getType();
  auto kernel = KernelOp::create(inKernel, value.getLoc(), "kernel",
                                 builder.getFunctionType(type, type));
  Block *body =
      inKernel.createBlock(&kernel.getBody(), {}, type, value.getLoc());
  ReturnOp::create(inKernel, value.getLoc(), body->getArguments());
  return launchAlone(kernel, nameOf("copy", type), value, builder);
}

LaunchOp KernelOutliner::outlineExchange(ArrayRef<Value> over,
                                         ArrayRef<Value> values,
                                         OpBuilder &builder) {
  OpBuilder inKernel(builder.getContext());
  Location loc = over.front().getLoc();
  SmallVector<Value> inputs(over);
  SmallVector<unsigned> numbers;
  for (Value value : values) {
    auto *known = llvm::find(inputs, value);
    numbers.push_back(known - inputs.begin());
    if (known == inputs.end())
      inputs.push_back(value);
  }
  auto types = TypeRange(ValueRange(inputs));
  auto kernel = KernelOp::create(
      inKernel, loc, "kernel",
      builder.getFunctionType(types, TypeRange(ValueRange(values))));
  Block *body = inKernel.createBlock(&kernel.getBody(), {}, types,
                                     SmallVector<Location>(inputs.size(), loc));
  auto results = llvm::map_to_vector(numbers, [&](unsigned number) -> Value {
    return body->getArgument(number);
  });
  ReturnOp::create(inKernel, loc, results);
  setForm(kernel, KernelForm::Rows);
  auto inplace = llvm::to_vector(llvm::seq<int64_t>(0, over.size()));
  return launch(kernel, nameOf("exchange", over.front().getType()), loc, inputs,
                inplace, builder);
}

LaunchOp KernelOutliner::outlineZeros(Location loc, RankedTensorType type,
                                      OpBuilder &builder) {
  OpBuilder inKernel(builder.getContext());
  auto kernel = KernelOp::create(inKernel, loc, "kernel",
                                 builder.getFunctionType({}, type));
  inKernel.createBlock(&kernel.getBody());
  ReturnOp::create(inKernel, loc,
                   ConstantOp::create(inKernel, loc, type, 0.0).getResult());
  return launchAlone(kernel, nameOf("zeros", type), {}, builder);
}
