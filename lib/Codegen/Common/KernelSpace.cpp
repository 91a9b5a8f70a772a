//===- KernelSpace.cpp - The space of a kernel, and how ops read it -------===//

#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::pp;

SmallVector<unsigned> pp::getNonUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<unsigned> dims;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1)
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> pp::dropUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes(shape);
  llvm::erase(sizes, 1);
  return sizes;
}

Space pp::getSpace(ArrayRef<int64_t> shape) {
  Space space;
  for (int64_t size : dropUnitDims(shape)) {
    space.rows *= space.columns;
    space.columns = size;
  }
  return space;
}

bool pp::isRowReduction(ReduceOp op) {
  SmallVector<unsigned> dims = getNonUnitDims(getShape(op.getX()));
  return op.getDims().size() == 1 && !dims.empty() &&
         op.getDims().front() == dims.back();
}

AccessProbe::AccessProbe(MLIRContext *context)
    : scratch(ModuleOp::create(UnknownLoc::get(context))) {
  OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
  auto function = func::FuncOp::create(builder, scratch->getLoc(), "probe",
                                       builder.getFunctionType({}, {}));
  block = function.addEntryBlock();
}

namespace {

/// Emits an op once into the scratch block.
class Probe {
public:
  Probe(Block *block, ElementOpInterface root,
        llvm::function_ref<bool(Operation *)> isSeenThrough)
      : builder(OpBuilder::atBlockEnd(block)), root(root),
        isSeenThrough(isSeenThrough) {
    assert(block->empty() && "one emission at a time");
    ArrayRef<int64_t> shape = getShape(root->getResult(0));
    for (size_t i = 0; i < shape.size(); ++i)
      index.push_back(
          block->addArgument(builder.getIndexType(), root->getLoc()));
    for (unsigned dim : getNonUnitDims(shape))
      rootDims.push_back(index[dim]);
    rootSizes = dropUnitDims(shape);
  }

  OpReads run() {
    emit(root, index);
    result.usesIndex =
        llvm::any_of(index, [](Value i) { return !i.use_empty(); });
    return std::move(result);
  }

private:
  Value emit(ElementOpInterface op, ValueRange at) {
    // What is seen through is a graph, of which trees would be exponential.
    SmallVector<Value> dims = getNonUnit(getShape(op->getResult(0)), at);
    for (const Emitted &known : emitted[op])
      if (known.dims == dims)
        return known.element;
    Value element =
        op.emitElement(builder, at, [&](unsigned operand, ValueRange where) {
          return read(op->getOperand(operand), where);
        });
    emitted[op].push_back({std::move(dims), element});
    return element;
  }

  static SmallVector<Value> getNonUnit(ArrayRef<int64_t> shape, ValueRange at) {
    return llvm::map_to_vector(getNonUnitDims(shape),
                               [&](unsigned dim) { return at[dim]; });
  }

  Access classify(ArrayRef<int64_t> shape, ValueRange at) {
    SmallVector<Value> dims = getNonUnit(shape, at);
    // A slice at offset 0 reads at the same index, but another element of a
    // buffer.
    SmallVector<int64_t> sizes = dropUnitDims(shape);
    if (dims == rootDims && sizes == rootSizes)
      return Access::Identity;
    if (!rootDims.empty() && ArrayRef(dims) == ArrayRef(rootDims).drop_back() &&
        ArrayRef(sizes) == ArrayRef(rootSizes).drop_back())
      return Access::Row;
    return Access::Other;
  }

  Value read(Value source, ValueRange at) {
    Operation *def = source.getDefiningOp();
    if (!isSeenThrough) {
      result.reads.push_back({source, classify(getShape(source), at)});
      return dummy(source);
    }
    if (def && isSeenThrough(def) && !isReshape(def))
      return emit(cast<ElementOpInterface>(def), at);
    Access access = classify(getShape(source), at);
    bool isSeen = readThroughReshapes(source, access);
    // An op before the reshapes may be seen through as well; its own reads are
    // not followed.
    if (isSeen)
      collect(source);
    else
      result.reads.push_back({source, access});
    return dummy(source);
  }

  /// Moves `source` before reshapes. Returns whether it met an op that is seen
  /// through.
  bool readThroughReshapes(Value &source, Access &access) {
    while (isReshape(source.getDefiningOp())) {
      Value shown = source.getDefiningOp()->getOperand(0);
      if (access == Access::Identity && getSpace(shown) != getSpace(source))
        access = Access::Other;
      source = shown;
    }
    Operation *def = source.getDefiningOp();
    return def && isSeenThrough(def);
  }

  void collect(Value source) {
    SmallVector<Value> worklist = {source};
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      if (!collected.insert(value).second)
        continue;
      Operation *def = value.getDefiningOp();
      if (def && (isSeenThrough(def) || isReshape(def)))
        llvm::append_range(worklist, def->getOperands());
      else
        result.reads.push_back({value, Access::Other});
    }
  }

  Value dummy(Value tensor) {
    Type type = getStatisticsType(
        cast<RankedTensorType>(tensor.getType()).getElementType());
    return arith::ConstantOp::create(builder, root->getLoc(),
                                     builder.getZeroAttr(type));
  }

  OpBuilder builder;
  ElementOpInterface root;
  llvm::function_ref<bool(Operation *)> isSeenThrough;
  SmallVector<Value> index, rootDims;
  SmallVector<int64_t> rootSizes;
  struct Emitted {
    SmallVector<Value> dims; ///< the index, without dimensions of size 1
    Value element;
  };
  DenseMap<Operation *, SmallVector<Emitted, 1>> emitted;
  DenseSet<Value> collected; ///< what `collect` has met
  OpReads result;
};

} // namespace

OpReads
AccessProbe::probe(ElementOpInterface op,
                   llvm::function_ref<bool(Operation *)> isSeenThrough) {
  OpReads reads = Probe(block, op, isSeenThrough).run();
  block->clear();
  block->eraseArguments(0, block->getNumArguments());
  return reads;
}

OpReads AccessProbe::probeOperands(ElementOpInterface op) {
  return probe(op, nullptr);
}

bool pp::isFlatRange(KernelOp kernel) {
  AccessProbe probe(kernel.getContext());
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isReshape(&op))
      continue;
    Value result = op.getResult(0);
    if (getNumElements(result) != 1 && !kernel.isFull(result))
      return false;
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (constant.getValue().isSplat())
        continue;
    auto element = dyn_cast<ElementOpInterface>(op);
    if (!element)
      return false;
    OpReads reads = probe.probeOperands(element);
    if (reads.usesIndex)
      return false;
    for (const Read &read : reads.reads)
      if (read.access != Access::Identity && getNumElements(read.source) != 1)
        return false;
  }
  return true;
}
