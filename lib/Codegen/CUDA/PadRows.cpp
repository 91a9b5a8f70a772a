//===- PadRows.cpp - Decides which temporaries have padded rows -----------===//
//
// Before: launches and matmuls on tensors. After: the same, with `pp.pitch` of
// results whose rows should not begin where vectors of 16 bytes can't:
//
//   %0 = pp.matmul %x, %w {pp.pitch = array<i64: 50304>}
//       : ... to tensor<8192x50257xbf16>
//
//===----------------------------------------------------------------------===//

#include "VectorAccess.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/ForEachTask.h"
#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PADROWS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Where the memory of a row had better begin, if that costs at most this part
/// of the row.
static constexpr int64_t kRowBytes = 256, kMostPadding = 32;

/// Returns the pitch that rows should have; nothing if dense rows do.
static Pitch choosePitch(Value value, int64_t fewestColumns) {
  ArrayRef<int64_t> shape = getShape(value);
  int64_t columns = getColumnCount(shape);
  int64_t element = getElementBytes(getElementTypeOrSelf(value));
  if (getRowCount(shape) == 1 || columns < fewestColumns ||
      columns * element % kVectorBytes == 0)
    return std::nullopt;
  int64_t pitch = llvm::alignTo(columns, kRowBytes / element);
  if ((pitch - columns) * kMostPadding <= columns)
    return pitch;
  return llvm::alignTo(columns, kVectorBytes / element);
}

/// Returns whether a kernel computes addresses of a value, an argument or a
/// result, from a pitch without a division.
static bool takesPitch(KernelOp kernel, Value value) {
  FormAttr form = kernel.getFormAttr();
  ArrayRef<int64_t> shape = getShape(value);
  bool isResult = !isa<BlockArgument>(value);
  bool hasColumns = getColumnCount(shape) == form.getColumns();
  if (!kernel.takesPitches(isResult))
    return false;
  if (isResult)
    return kernel.isFull(value) && hasColumns;
  // What is neither full nor of row level is read at any index.
  int64_t elements = ShapedType::getNumElements(shape);
  return kernel.isFull(value) ? hasColumns : elements != form.getRows();
}

namespace {

/// Checks everything that reads or writes the buffer of a result.
class BufferUses {
public:
  explicit BufferUses(SymbolTable &symbols) : symbols(symbols) {}

  bool canPad(OpResult result, Pitch pitch);

private:
  bool isWrittenByRows(OpResult result);
  bool areReadByRows(Value value);
  bool collectCalls(Value value);
  KernelOp getKernel(LaunchOp launch) {
    return symbols.lookup<KernelOp>(launch.getKernel());
  }

  SymbolTable &symbols;
  SmallVector<LibraryCallOpInterface> calls;
};

} // namespace

bool BufferUses::isWrittenByRows(OpResult result) {
  auto launch = dyn_cast<LaunchOp>(result.getOwner());
  if (!launch) {
    calls.push_back(cast<LibraryCallOpInterface>(result.getOwner()));
    return true;
  }
  KernelOp kernel = getKernel(launch);
  Operation *ret = kernel.getBody().front().getTerminator();
  return takesPitch(kernel, ret->getOperand(result.getResultNumber()));
}

/// Adds the library's calls that read a view; false if others do.
bool BufferUses::collectCalls(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto call = dyn_cast<LibraryCallOpInterface>(user)) {
      calls.push_back(call);
      return true;
    }
    return isView(user) && collectCalls(user->getResult(0));
  });
}

/// Returns whether all that read a value, also where it is overwritten in
/// place, may do so with a pitch. Leaves calls to be checked.
bool BufferUses::areReadByRows(Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (keepsRows(user))
      return areReadByRows(user->getResult(0));
    if (auto call = dyn_cast<LibraryCallOpInterface>(user)) {
      calls.push_back(call);
      return true;
    }
    if (isView(user))
      return collectCalls(user->getResult(0));
    auto launch = dyn_cast<LaunchOp>(user);
    if (!launch)
      return false;
    int64_t number = use.getOperandNumber();
    KernelOp kernel = getKernel(launch);
    if (!takesPitch(kernel, kernel.getBody().getArgument(number)))
      return false;
    for (OpResult result : launch->getResults())
      if (launch.getInplace()[result.getResultNumber()] == number &&
          !(isWrittenByRows(result) && areReadByRows(result)))
        return false;
    return true;
  });
}

bool BufferUses::canPad(OpResult result, Pitch pitch) {
  if (!isWrittenByRows(result) || !areReadByRows(result))
    return false;
  setPitch(result, pitch);
  bool isFolded = llvm::all_of(calls, [](LibraryCallOpInterface call) {
    Value failed;
    return foldCall(
               call, [](Operation *) { return false; }, /*accumulates=*/false,
               failed)
        .has_value();
  });
  setPitch(result, std::nullopt);
  return isFolded;
}

namespace {

struct PadRowsPass : pp::impl::PadRowsBase<PadRowsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    int64_t fewestColumns =
        getThreshold(getOperation(), Threshold::GpuPitchColumns);
    (void)forEachTask(getOperation(), [&](TaskOp task) {
      for (Operation &op : task.getBody().front()) {
        if (!isa<LaunchOp, LibraryCallOpInterface>(op))
          continue;
        for (OpResult result : op.getResults()) {
          if (isInPlace(result))
            continue;
          Pitch pitch = choosePitch(result, fewestColumns);
          if (pitch && BufferUses(symbols).canPad(result, pitch))
            setPitch(result, pitch);
        }
      }
      return success();
    });
  }

  static bool isInPlace(OpResult result) {
    auto launch = dyn_cast<LaunchOp>(result.getOwner());
    return launch && launch.getInplace()[result.getResultNumber()] >= 0;
  }
};

} // namespace
