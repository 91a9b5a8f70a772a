//===- Cost.cpp - The work of ops -----------------------------------------===//

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ElementCount.h"

#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::pp;

int64_t pp::getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(),
                          8);
}

static bool contains(const TensorLoops &tensor, unsigned loop) {
  return llvm::any_of(tensor, [&](const DimLoops &dim) {
    return llvm::is_contained(dim, loop);
  });
}

bool pp::isCheap(Operation *op) {
  if (isa<ElementOpInterface>(op))
    return true;
  auto space = dyn_cast<IterationSpaceOpInterface>(op);
  if (!space || op->getNumResults() != 1 || isa<ParamOp, CopyOp>(op))
    return false;
  IterationSpace loops = space.getIterationSpace();
  for (auto [i, loop] : llvm::enumerate(loops.loops))
    if (!contains(loops.results[0], i) || loop.kind == LoopKind::Sum ||
        loop.kind == LoopKind::Max)
      return false;
  return true;
}

bool pp::isDecision(Operation *op) {
  auto isOf = [](auto isType) {
    return [=](Value value) {
      return isType(getElementTypeOrSelf(value.getType()));
    };
  };
  auto isFloat = isOf([](Type type) { return isa<FloatType>(type); });
  auto isInteger = isOf([](Type type) { return isa<IntegerType>(type); });
  return isa<ElementOpInterface>(op) &&
         llvm::any_of(op->getOperands(), isFloat) &&
         llvm::any_of(op->getResults(), isInteger);
}

bool pp::isFree(Operation *op) {
  return isa<ViewOpInterface, CheckpointOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

//===----------------------------------------------------------------------===//
// Work of one op
//===----------------------------------------------------------------------===//

/// Returns whether the op sums over a loop that two operands share. Indices are
/// not multiplied.
static bool sumsProducts(Operation *op, const IterationSpace &space) {
  for (auto [i, loop] : llvm::enumerate(space.loops)) {
    if (loop.kind != LoopKind::Sum)
      continue;
    unsigned factors = 0;
    for (auto [operand, loops] : llvm::zip(op->getOperands(), space.operands))
      factors += isa<FloatType>(getElementTypeOrSelf(operand.getType())) &&
                 contains(loops, i);
    if (factors >= 2)
      return true;
  }
  return false;
}

bool pp::isMatmul(Operation *op) {
  // An elementwise op sums nothing, and most ops are elementwise.
  auto space = dyn_cast<IterationSpaceOpInterface>(op);
  return space && op->getNumOperands() > 1 && !isa<ElementOpInterface>(op) &&
         sumsProducts(op, space.getIterationSpace());
}

/// Returns whether an op computes nothing.
static bool isGiven(Operation *op) {
  return isa<ParamOp, CopyOp, CheckpointOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Returns whether a value stays in the kernel that computes it.
static bool isFused(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ElementOpInterface>(op) || !value.hasOneUse())
    return false;
  Operation *user = *value.user_begin();
  return user->getBlock() == op->getBlock() &&
         isa<IterationSpaceOpInterface>(user) && !isMatmul(user);
}

/// Returns whether indices or offsets may choose iterations of a loop.
static bool isIndexed(const Loop &loop) {
  return loop.kind == LoopKind::Lookup || loop.kind == LoopKind::Replicate;
}

/// Returns whether only a part of operand `i` is read, chosen by indices or
/// offsets: it has a loop of its own that is not parallel.
static bool isLookedUp(const IterationSpace &space, unsigned i) {
  auto isOfOthers = [&](unsigned loop) {
    auto isOther = [&](const TensorLoops &tensor) {
      return &tensor != &space.operands[i] && contains(tensor, loop);
    };
    return llvm::any_of(space.operands, isOther) ||
           llvm::any_of(space.results, isOther);
  };
  return llvm::any_of(space.operands[i], [&](const DimLoops &dim) {
    return llvm::any_of(dim, [&](unsigned loop) {
      return isIndexed(space.loops[loop]) && !isOfOthers(loop);
    });
  });
}

/// Returns the bytes that the op reads of operand `i`: at most those that it
/// writes if indices choose what is read. A sum of products reads all of them.
static double getBytesRead(Operation *op, const IterationSpace &space,
                           unsigned i) {
  double bytes = getBytes(op->getOperand(i));
  if (!isLookedUp(space, i) || sumsProducts(op, space))
    return bytes;
  double written = 0;
  for (Value result : op->getResults())
    written += getBytes(result);
  return std::min(bytes, written);
}

namespace {

/// Ops that are built for inspection and erased afterwards.
class Scratch {
public:
  explicit Scratch(MLIRContext *context) : builder(context) {
    builder.setInsertionPointToEnd(&block);
  }
  ~Scratch() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      op.dropAllUses();
      op.erase();
    }
  }
  Work getWork() {
    Work work;
    for (Operation &op : block)
      work += estimateWork(&op);
    return work;
  }
  Block block;
  OpBuilder builder;
};

} // namespace

/// Returns the work of an op that does not follow from its loops; nothing for
/// most.
static Work getWorkOfForm(Operation *op) {
  auto formOp = dyn_cast<KernelFormOpInterface>(op);
  FormWork form = formOp ? formOp.getFormWork() : FormWork();
  Work work;
  if (form.flops == 0)
    return work;
  MatmulWork matmul;
  matmul.kind =
      form.isGradient ? MatmulWork::AttentionGradient : MatmulWork::Attention;
  matmul.type = getRateType(op->getResult(0));
  matmul.flops = form.flops;
  work.addMatmul(matmul);
  work.elements = form.scores;
  work.ofType[static_cast<size_t>(matmul.type)].scores = form.scores;
  return work;
}

/// Returns whether the terms of the sums are not the operand's last dimension
/// in memory.
static bool isTransposed(Value operand, const TensorLoops &tensor,
                         const IterationSpace &space) {
  if (tensor.empty())
    return false;
  bool isLast = llvm::any_of(tensor.back(), [&](unsigned loop) {
    return space.loops[loop].kind == LoopKind::Sum;
  });
  // A transpose is a view, which swaps the last two.
  return isLast == bool(operand.getDefiningOp<TransposeOp>());
}

/// Returns the sizes of a matmul: each loop is a row, a column, a term or a
/// batch.
static MatmulWork describeMatmul(Operation *op, const IterationSpace &space) {
  MatmulWork matmul;
  matmul.type = getRateType(op->getOperand(0));
  const TensorLoops &a = space.operands[0], &b = space.operands[1];
  matmul.flops = 2;
  for (auto [i, loop] : llvm::enumerate(space.loops)) {
    auto extent = static_cast<double>(loop.extent);
    matmul.flops *= extent;
    if (loop.kind == LoopKind::Sum)
      matmul.k *= extent;
    else if (!contains(b, i))
      matmul.m *= extent;
    else if (!contains(a, i))
      matmul.n *= extent;
  }
  matmul.isTransposed =
      isTransposed(op->getOperand(0), space.operands[0], space);
  return matmul;
}

/// Returns the work of an op that is not a composite, or a model composite; no
/// bytes.
static Work getComputation(Operation *op, const IterationSpace &space) {
  Work work = getWorkOfForm(op);
  // The gradient of attention sums over heads that share one of keys, as a
  // matmul would.
  if (work.flops == 0 && sumsProducts(op, space)) {
    work.addMatmul(describeMatmul(op, space));
    return work;
  }
  double elements = 0;
  auto countAll = [&](Value value) {
    elements = std::max<double>(
        elements, cast<RankedTensorType>(value.getType()).getNumElements());
  };
  llvm::for_each(op->getResults(), countAll);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isLookedUp(space, i))
      countAll(operand);
  // Attention counts its scores instead.
  if (work.flops > 0 && work.elements >= elements)
    return work;
  ElementWork &parts =
      work.ofType[static_cast<size_t>(getRateType(op->getResult(0)))];
  parts = countElements(op, elements);
  work.elements = elements;
  return work;
}

/// Returns the work of a matmul on buffers.
static Work estimateGemmWork(GemmOp matmul) {
  Work work;
  double batch = 1;
  for (int64_t size : matmul.getBatch())
    batch *= static_cast<double>(size);
  auto m = static_cast<double>(matmul.getM()),
       n = static_cast<double>(matmul.getN()),
       k = static_cast<double>(matmul.getK());
  work.addMatmul({MatmulWork::Library, getRateType(matmul.getA()),
                  2 * batch * m * n * k, m, n, k,
                  matmul.getAStrides()[3] != 1 && m > 1});
  auto bytesOf = [](Value operand, double elements) {
    return elements * getElementTypeOrSelf(operand).getIntOrFloatBitWidth() / 8;
  };
  double c = bytesOf(matmul.getC(), batch * m * n);
  work.setBytes(bytesOf(matmul.getA(), batch * m * k) +
                bytesOf(matmul.getB(), batch * k * n) +
                (matmul.getAccumulate() ? 2 : 1) * c);
  return work;
}

Work pp::estimateWork(Operation *op) {
  Work work;
  if (auto matmul = dyn_cast<GemmOp>(op))
    return estimateGemmWork(matmul);
  auto interface = dyn_cast<IterationSpaceOpInterface>(op);
  if (!interface || isGiven(op))
    return work;
  IterationSpace space;
  auto composition = dyn_cast<DecomposableOpInterface>(op);
  bool isComposed =
      composition && composition.getDecomposeAt() != DecomposeAt::Never;
  if (isComposed) {
    Scratch scratch(op->getContext());
    composition.decompose(scratch.builder);
    work = scratch.getWork();
  } else {
    space = interface.getIterationSpace();
    work = getComputation(op, space);
  }
  double bytes = 0;
  for (Value result : op->getResults())
    if (!isFused(result))
      bytes += getBytes(result);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!isFused(operand))
      bytes += isComposed ? getBytes(operand) : getBytesRead(op, space, i);
  work.setBytes(bytes);
  return work;
}

/// Returns whether indices choose the place of each part of the result, in a
/// loop that only the result has.
static bool isScattered(IterationSpaceOpInterface op) {
  IterationSpace space = op.getIterationSpace();
  if (space.results.empty())
    return false;
  auto isRead = [&](unsigned loop) {
    return llvm::any_of(space.operands, [&](const TensorLoops &operand) {
      return contains(operand, loop);
    });
  };
  return llvm::any_of(space.results[0], [&](const DimLoops &dim) {
    return llvm::any_of(dim, [&](unsigned loop) {
      return isIndexed(space.loops[loop]) && !isRead(loop);
    });
  });
}

/// Returns the bytes of the accumulator that change: of a scatter at most those
/// of the value's operands.
static double getBytesAccumulated(AccumulateOp sum) {
  double bytes = getBytes(sum.getResult());
  auto op = sum.getValue().getDefiningOp<IterationSpaceOpInterface>();
  if (!op || !isScattered(op))
    return bytes;
  double parts = 0;
  for (Value operand : op->getOperands())
    parts += getBytes(operand);
  return std::min(bytes, parts);
}

/// Returns the bytes of indices that tiles after the first read: each tile of a
/// scatter goes through all of them.
static double getBytesReadAgain(KernelOp kernel) {
  KernelFormOpInterface form = kernel.getFormOp();
  TilesAttr tiles = kernel.getTilesAttr();
  auto op = form ? dyn_cast<IterationSpaceOpInterface>(*form)
                 : IterationSpaceOpInterface();
  if (!op || !tiles || !isScattered(op))
    return 0;
  double bytes = 0;
  for (Value operand : op->getOperands())
    if (getElementTypeOrSelf(operand).isInteger())
      bytes += getBytes(operand);
  return bytes * static_cast<double>(tiles.getCount() - 1);
}

int64_t pp::getMatmulFlops(KernelOp kernel) {
  double flops = 0;
  for (Operation &op : kernel.getBody().front())
    flops += getWorkOfForm(&op).flops;
  return static_cast<int64_t>(flops);
}

double pp::getKernelBytes(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  double bytes = 0;
  for (BlockArgument argument : body.getArguments()) {
    double read = 0;
    for (OpOperand &use : argument.getUses()) {
      Operation *op = use.getOwner();
      auto space = dyn_cast<IterationSpaceOpInterface>(op);
      double bytes = getBytes(argument);
      if (auto sum = dyn_cast<AccumulateOp>(op);
          sum && sum.getAccumulator() == argument)
        bytes = getBytesAccumulated(sum);
      else if (space)
        bytes =
            getBytesRead(op, space.getIterationSpace(), use.getOperandNumber());
      read = std::max(read, bytes);
    }
    bytes += read;
  }
  for (Value result : body.getTerminator()->getOperands()) {
    auto sum = result.getDefiningOp<AccumulateOp>();
    bytes += sum ? getBytesAccumulated(sum) : getBytes(result);
  }
  return bytes + getBytesReadAgain(kernel);
}

Work pp::estimateKernelWork(KernelOp kernel) {
  Work work;
  for (Operation &op : kernel.getBody().front())
    work += estimateWork(&op);
  work.setBytes(getKernelBytes(kernel));
  return work;
}

/// Returns which values the ops of a block read.
static SmallVector<bool, 4> findRead(ValueRange values, Block &block) {
  return llvm::map_to_vector<4>(values, [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return user->getBlock() == &block;
    });
  });
}

/// Also says what the backward reads of the forward.
static Work estimateBackward(Operation *op, ArrayRef<bool> needed,
                             BackwardReads &reads) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable || llvm::none_of(needed, [](bool need) { return need; }))
    return {};
  Block grads;
  Scratch scratch(op->getContext());
  SmallVector<Value> resultGrads, operandGrads(op->getNumOperands());
  for (Value result : op->getResults())
    resultGrads.push_back(
        isa<FloatType>(getElementTypeOrSelf(result)) && !result.use_empty()
            ? grads.addArgument(result.getType(), result.getLoc())
            : Value());
  if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
    return {};
  // Autodiff reports what can't be differentiated, if it has to be.
  ScopedDiagnosticHandler silent(op->getContext(),
                                 [](Diagnostic &) { return success(); });
  if (failed(differentiable.buildAdjoint(scratch.builder, resultGrads, needed,
                                         operandGrads)))
    return {};
  reads = {findRead(op->getOperands(), scratch.block),
           findRead(op->getResults(), scratch.block)};
  return scratch.getWork();
}

Work pp::estimateBackwardWork(Operation *op, ArrayRef<bool> needed) {
  BackwardReads reads;
  return estimateBackward(op, needed, reads);
}

//===----------------------------------------------------------------------===//
// Ops that are alike
//===----------------------------------------------------------------------===//

/// Returns what the work of an op depends on besides the op and its types: what
/// makes its operands and whether they and its results are written.
static SmallVector<uintptr_t>
describeSurroundings(Operation *op, ArrayRef<bool> needed, bool isBackward) {
  SmallVector<uintptr_t> found = {isBackward};
  llvm::append_range(found, needed);
  for (Value operand : op->getOperands()) {
    found.push_back(isFused(operand));
    Operation *def = operand.getDefiningOp();
    found.push_back(
        def ? reinterpret_cast<uintptr_t>(def->getName().getAsOpaquePointer())
            : 0);
    Attribute value;
    if (def && matchPattern(def, m_Constant(&value)))
      found.push_back(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
    if (def && def->getNumOperands() == 1) // casts of casts are folded
      found.push_back(reinterpret_cast<uintptr_t>(
          def->getOperand(0).getType().getAsOpaquePointer()));
  }
  for (Value result : op->getResults()) {
    found.push_back(isFused(result));
    found.push_back(result.use_empty());
  }
  return found;
}

const OpTimes::Known &OpTimes::find(Operation *op, ArrayRef<bool> needed,
                                    bool isBackward) {
  SmallVector<uintptr_t> surroundings =
      describeSurroundings(op, needed, isBackward);
  size_t hash =
      llvm::hash_combine(OperationEquivalence::computeHash(
                             op, OperationEquivalence::ignoreHashValue,
                             OperationEquivalence::ignoreHashValue,
                             OperationEquivalence::IgnoreLocations),
                         llvm::hash_combine_range(surroundings));
  SmallVector<Known, 1> &alike = known[hash];
  for (const Known &each : alike)
    if (each.surroundings == surroundings &&
        OperationEquivalence::isEquivalentTo(
            each.op, op, OperationEquivalence::ignoreValueEquivalence,
            /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations))
      return each;
  BackwardReads reads;
  Work work =
      isBackward ? estimateBackward(op, needed, reads) : estimateWork(op);
  reads.operands.resize(op->getNumOperands());
  reads.results.resize(op->getNumResults());
  alike.push_back(
      {op, std::move(surroundings), work.getTime(device), std::move(reads)});
  return alike.back();
}

double OpTimes::get(Operation *op) {
  return find(op, {}, /*isBackward=*/false).time;
}

double OpTimes::getBackward(Operation *op, ArrayRef<bool> needed) {
  return find(op, needed, /*isBackward=*/true).time;
}

const BackwardReads &OpTimes::getBackwardReads(Operation *op,
                                               ArrayRef<bool> needed) {
  return find(op, needed, /*isBackward=*/true).reads;
}
