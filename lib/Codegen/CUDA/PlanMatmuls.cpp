//===- PlanMatmuls.cpp - Decides how a GPU's threads compute matmuls ------===//
//
// Before: matmuls on buffers. After: the same with the kernels that compute
// them, if the plan generates matmuls.
//
//   pp.gemm %a, %b into %c {m = 129, n = 65, k = 33, ..., kernel =
//       #pp.matmul_kernel<@matmul_129x65x33_f32, 6 of 128 threads, tile
//       64x64x8, part 4x8, a 1 along k, b 1 along n, c 1, 8704 shared>}
//
//===----------------------------------------------------------------------===//

#include "MatmulTile.h"
#include "Shuffle.h"
#include "TensorCores.h"
#include "VectorAccess.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/KernelUses.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/column_major.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANCUDAMATMULS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

static constexpr int64_t kSmallestTile = 16;
static constexpr int64_t kFewestThreads = 128;

/// Returns a power of two that divides the address of an element of a buffer.
static int64_t getAlignment(Value buffer, int64_t offset) {
  int64_t element = getElementBytes(getElementTypeOrSelf(buffer));
  return llvm::MinAlign(getAddressAlignment(buffer), offset * element);
}

namespace {

/// A dimension of an operand.
struct Extent {
  int64_t size, stride;
};

/// How threads move an operand.
struct Moves {
  int64_t width;
  MatmulDim along;
};

} // namespace

/// Returns the most neighbours along the first of the dimensions that one
/// access can have wherever it is: a power of two.
static int64_t getWidth(Value buffer, int64_t offset, Extent along,
                        ArrayRef<Extent> others) {
  int64_t element = getElementBytes(getElementTypeOrSelf(buffer));
  int64_t width =
      std::min(kVectorBytes, getAlignment(buffer, offset)) / element;
  if (along.size > 1 && along.stride != 1)
    return 1;
  auto fits = [&] {
    return along.size % width == 0 && llvm::all_of(others, [&](Extent other) {
             return other.size == 1 || other.stride % width == 0;
           });
  };
  while (!fits())
    width /= 2;
  return width;
}

/// Returns the batch's dimensions of an operand, and `other`.
static SmallVector<Extent> getOthers(GemmOp op, ArrayRef<int64_t> strides,
                                     Extent other) {
  ArrayRef<int64_t> batch = op.getBatch();
  return {{batch[0], strides[0]}, {batch[1], strides[1]}, other};
}

/// Threads take neighbours along the dimension in which they can take most; if
/// they can take one only, along that of the smaller steps.
static Moves chooseMoves(GemmOp op, const MatmulOperand &operand,
                         MatmulDim rows) {
  Extent row{operand.rows, operand.rowStride};
  Extent depth{operand.depth, operand.depthStride};
  auto widthAlong = [&](Extent along, Extent other) {
    return getWidth(operand.buffer, operand.offset, along,
                    getOthers(op, operand.batchStrides, other));
  };
  int64_t alongRows = widthAlong(row, depth);
  int64_t alongDepth = widthAlong(depth, row);
  if (alongRows != alongDepth)
    return alongRows > alongDepth ? Moves{alongRows, rows}
                                  : Moves{alongDepth, MatmulDim::K};
  // Of size 1 or broadcast, a dimension has no steps.
  auto getStep = [](Extent each) {
    return each.size == 1 || each.stride == 0 ? INT64_MAX : each.stride;
  };
  return {alongDepth, getStep(row) < getStep(depth) ? rows : MatmulDim::K};
}

/// Returns the sizes m, n, k of a tile. It has no more than the matmul needs,
/// and is smaller than it could be if there were too few blocks.
static std::array<int64_t, 3> chooseTile(GemmOp op) {
  Type type = getElementTypeOrSelf(op.getA());
  int64_t most =
      llvm::bit_floor<uint64_t>(getThreshold(op, Threshold::GpuMatmulTile));
  int64_t depth =
      llvm::bit_floor<uint64_t>(getThreshold(op, Threshold::GpuMatmulDepth));
  if (type.isF64())
    most /= 2;
  if (!usesTensorCores(op))
    depth /= 4;
  int64_t leastDepth = usesTensorCores(op) ? kProductDepth : 1;
  auto clamp = [&](int64_t size, int64_t least, int64_t most) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(size), least,
                               std::max(least, most));
  };
  int64_t m = clamp(op.getM(), kSmallestTile, most);
  int64_t n = clamp(op.getN(), kSmallestTile, most);
  int64_t k = clamp(op.getK(), leastDepth, depth);
  int64_t batch = llvm::product_of(op.getBatch());
  constexpr int64_t kSmallestOfMany = 32;
  auto isEnough = [&] {
    return batch * llvm::divideCeil(op.getM(), m) *
               llvm::divideCeil(op.getN(), n) >=
           getThreshold(op, Threshold::GpuMatmulBlocks);
  };
  while (!isEnough() && std::max(m, n) > kSmallestOfMany)
    (m >= n ? m : n) /= 2;
  return {m, n, k};
}

/// Returns the part m × n of a tile that a thread computes, or a warp.
static std::array<int64_t, 2> choosePart(GemmOp op,
                                         std::array<int64_t, 3> tile) {
  bool isOfWarps = usesTensorCores(op);
  bool isLong = getElementTypeOrSelf(op.getA()).isF64();
  int64_t m = std::min<int64_t>(tile[0], isOfWarps ? 64 : isLong ? 4 : 8);
  int64_t n = std::min<int64_t>(tile[1], isOfWarps ? 32 : isLong ? 4 : 8);
  int64_t least = isOfWarps ? kProductRows : 1;
  int64_t threads = isOfWarps ? kWarp : 1;
  while (tile[0] / m * (tile[1] / n) * threads < kFewestThreads &&
         std::max(m, n) > least)
    (m >= n ? m : n) /= 2;
  return {m, n};
}

static MatmulKernelAttr planKernel(GemmOp op, StringAttr name) {
  MLIRContext *context = op.getContext();
  std::array<int64_t, 3> tile = chooseTile(op);
  std::array<int64_t, 2> part = choosePart(op, tile);
  Moves a = chooseMoves(op, MatmulOperand::getA(op), MatmulDim::M);
  Moves b = chooseMoves(op, MatmulOperand::getB(op), MatmulDim::N);
  ArrayRef<int64_t> strides = op.getCStrides();
  int64_t c = getWidth(op.getC(), op.getCOffset(), {op.getN(), strides[3]},
                       getOthers(op, strides, {op.getM(), strides[2]}));
  bool isOfWarps = usesTensorCores(op);
  // A row of a product of tensor cores has two neighbours in a thread.
  c = std::min<int64_t>(c, isOfWarps ? 2 : part[1]);
  int64_t blocks = llvm::product_of(op.getBatch()) *
                   llvm::divideCeil(op.getM(), tile[0]) *
                   llvm::divideCeil(op.getN(), tile[1]);
  int64_t threads =
      tile[0] / part[0] * (tile[1] / part[1]) * (isOfWarps ? kWarp : 1);
  // Operands of bf16 are less exact than long sums in f32 of them.
  int64_t sum =
      isOfWarps
          ? 0
          : llvm::alignTo(getThreshold(op, Threshold::GpuMatmulSum), tile[2]);
  if (static_cast<int64_t>(op.getK()) <= sum)
    sum = 0;
  auto make = [&](int64_t shared) {
    return MatmulKernelAttr::get(context, FlatSymbolRefAttr::get(name), blocks,
                                 threads, tile, part, a.width, a.along, b.width,
                                 b.along, c, shared, sum);
  };
  MatmulKernelAttr kernel = make(0);
  StagedTile stagedA = getStagedA(op, kernel), stagedB = getStagedB(op, kernel);
  return make(kStagedBuffers * stagedA.elementBytes *
              (stagedA.getElements() + stagedB.getElements()));
}

namespace {

/// What kernels of matmuls differ in, as one attribute.
struct MatmulKey {
  static Attribute get(GemmOp op, MatmulKernelAttr kernel) {
    Builder builder(op.getContext());
    SmallVector<Attribute> parts = {
        kernel,
        op.getBatchAttr(),
        op.getAStridesAttr(),
        op.getBStridesAttr(),
        op.getCStridesAttr(),
        op.getMAttr(),
        op.getNAttr(),
        op.getKAttr(),
        builder.getBoolAttr(op.getAccumulate()),
        TypeAttr::get(getElementTypeOrSelf(op.getA())),
        TypeAttr::get(getElementTypeOrSelf(op.getC()))};
    return builder.getArrayAttr(parts);
  }
};

struct PlanCudaMatmulsPass
    : pp::impl::PlanCudaMatmulsBase<PlanCudaMatmulsPass> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    bool usesLibrary = plan->getMatmulSource() == MatmulSource::library;
    for (auto kernel : getOperation().getOps<KernelOp>())
      taken.insert(kernel.getSymName());
    WalkResult result = getOperation().walk([&](GemmOp op) {
      if (usesLibrary && ::ppopt::asColumnMajor(describeMatmul(op)))
        return WalkResult::advance();
      auto unnamed = planKernel(op, StringAttr::get(&getContext(), ""));
      StringAttr &name = names[MatmulKey::get(op, unnamed)];
      if (!name)
        name = makeName(op);
      MatmulKernelAttr kernel = planKernel(op, name);
      if (kernel.getBlocks() > INT32_MAX) {
        op.emitOpError("has ") << kernel.getBlocks()
                               << " tiles, more than a launch has blocks; use "
                                  "more microbatches";
        return WalkResult::interrupt();
      }
      op.setKernelAttr(kernel);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  StringAttr makeName(GemmOp op) {
    std::string base = op.makeName(), name = base;
    for (unsigned number = 1; !taken.insert(name).second; ++number)
      name = base + "_" + std::to_string(number);
    return StringAttr::get(&getContext(), name);
  }

  llvm::StringSet<> taken;
  DenseMap<Attribute, StringAttr> names;
};

} // namespace
