//===- CutTransfers.cpp - Decides which transfers are sent in parts -------===//
//
// Before: a copy between places sends a value as the stage makes it, so that
// ranks along an axis of the model over which it is whole all send the same
// bytes. After: where that is faster, the copy reads the value cut over these
// axes, and so does the copy of its gradient. Changes annotations alone:
// pp-insert-reshards cuts the value in the stage that makes it, and gathers it
// in those that read it.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Links.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CUTTRANSFERS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A value that crosses, and the gradient that comes back, if one does.
struct Crossing {
  CopyOp value, gradient;

  SmallVector<CopyOp, 2> getCopies() const {
    return gradient ? SmallVector<CopyOp, 2>{value, gradient}
                    : SmallVector<CopyOp, 2>{value};
  }
};

class TransferCutter {
public:
  TransferCutter(ModuleOp module, ShardingTable &table, TransferCuts choice)
      : links(module), table(table), axes(table.axes), choice(choice) {}

  LogicalResult decide(const Crossing &crossing);

private:
  std::optional<Sharding> addCuts(const Sharding &sharding,
                                  ArrayRef<int64_t> shape, AxisSet over) const;
  std::optional<Sharding> addCut(const Sharding &sharding,
                                 ArrayRef<int64_t> shape, unsigned axis) const;
  int64_t getLocalBytes(const Sharding &sharding, Value value) const;
  double getGatherTime(CopyOp copy, const Sharding &cut, AxisSet over) const;
  double getTimeSaved(CopyOp copy, const Sharding &cut, AxisSet over) const;
  LogicalResult refuse(CopyOp copy, AxisSet over) const;
  void send(CopyOp copy, const Sharding &cut);
  const Sharding &of(CopyOp copy) const { return table.of(copy.getResult()); }

  Links links;
  ShardingTable &table;
  const ShardingAxes &axes;
  TransferCuts choice;
};

} // namespace

/// Cuts the first dimension that the axis divides, inside of the parts that
/// other axes cut: the elements of a part follow one another, if the dimensions
/// before have one element. Returns nothing if the axis divides none.
std::optional<Sharding> TransferCutter::addCut(const Sharding &sharding,
                                               ArrayRef<int64_t> shape,
                                               unsigned axis) const {
  for (auto [dim, cuts] : llvm::enumerate(sharding.dims)) {
    int64_t period = shape[dim];
    for (Cut other : cuts)
      period = std::min(period, other.period / axes[other.axis].parts);
    Sharding cut = sharding;
    if (period % axes[axis].parts == 0 &&
        pp::addCut(cut.dims[dim], {axis, period}, shape[dim], axes))
      return cut;
  }
  return std::nullopt;
}

std::optional<Sharding> TransferCutter::addCuts(const Sharding &sharding,
                                                ArrayRef<int64_t> shape,
                                                AxisSet over) const {
  std::optional<Sharding> cut = sharding;
  for (unsigned axis = 0; cut && axis < axes.size(); ++axis)
    if (contains(over, axis))
      cut = addCut(*cut, shape, axis);
  return cut;
}

int64_t TransferCutter::getLocalBytes(const Sharding &sharding,
                                      Value value) const {
  return computeProduct(getLocalShape(axes, sharding, getShape(value))) *
         getElementBytes(getElementTypeOrSelf(value));
}

/// Returns how long the readers of a copy gather it: those of each region do so
/// once.
double TransferCutter::getGatherTime(CopyOp copy, const Sharding &cut,
                                     AxisSet over) const {
  DenseSet<Block *> readers;
  for (Operation *user : copy->getUsers())
    readers.insert(user->getBlock());
  double time = 0;
  int64_t bytes = getLocalBytes(cut, copy);
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    if (!contains(over, axis))
      continue;
    bytes *= axes[axis].parts;
    time += links.estimateTime(::ppopt::geometry::Collective::AllGather, bytes,
                               {{axes[axis].name.str()}, {}}, copy.getTo());
  }
  return time * static_cast<double>(readers.size());
}

/// Returns how much less time it takes to send parts and to gather them, as if
/// nothing were hidden behind compute.
double TransferCutter::getTimeSaved(CopyOp copy, const Sharding &cut,
                                    AxisSet over) const {
  const ::ppopt::schema::LinkRates &link =
      links.getLevelBetween(copy.getFrom(), copy.getTo()).transfer;
  return estimateLinkTime(getLocalBytes(of(copy), copy), link) -
         estimateLinkTime(getLocalBytes(cut, copy), link) -
         getGatherTime(copy, cut, over);
}

/// A value with fewer elements than ranks is sent whole, whatever the choice.
LogicalResult TransferCutter::refuse(CopyOp copy, AxisSet over) const {
  SmallVector<int64_t> shape = getLocalShape(axes, of(copy), getShape(copy));
  if (choice != TransferCuts::Always ||
      computeProduct(shape) < axes.countParts(over))
    return success();
  InFlightDiagnostic diag = copy.emitError("--cut-transfers always: ");
  diag << "place " << copy.getFrom() << " sends place " << copy.getTo()
       << " a value of ";
  llvm::interleave(shape, diag, "x");
  diag << ", of which ";
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    if (contains(over, axis))
      diag << axes[axis].name.getValue() << "=" << axes[axis].parts << " ";
  return diag << "divides no dimension; change a size, or say --cut-transfers "
                 "auto, which sends it whole";
}

/// Makes a copy read and give the value cut. Its readers read it as before.
void TransferCutter::send(CopyOp copy, const Sharding &cut) {
  OpSharding &sharding = table.ops[copy];
  sharding.loops.assign(cut.dims.begin(), cut.dims.end());
  sharding.reads = {cut};
  table.values[copy] = cut;
  table.write(copy);
  for (Operation *reader : copy->getUsers())
    table.write(reader);
}

LogicalResult TransferCutter::decide(const Crossing &crossing) {
  SmallVector<CopyOp, 2> copies = crossing.getCopies();
  AxisSet over = axes.getRankAxes() & ~axes.getBatchAxes();
  for (CopyOp copy : copies)
    over &= ~of(copy).getAxes();
  if (!over)
    return success();
  SmallVector<Sharding, 2> cuts;
  double saved = 0;
  for (CopyOp copy : copies) {
    auto cut = addCuts(of(copy), getShape(copy), over);
    if (!cut)
      return refuse(copy, over);
    saved += getTimeSaved(copy, *cut, over);
    cuts.push_back(std::move(*cut));
  }
  if (saved > 0 || choice == TransferCuts::Always)
    for (auto [copy, cut] : llvm::zip(copies, cuts))
      send(copy, cut);
  return success();
}

namespace {

struct CutTransfers : pp::impl::CutTransfersBase<CutTransfers> {
  using CutTransfersBase::CutTransfersBase;

  void runOnOperation() override {
    markAnalysesPreserved<KnownShardings>();
    if (choice == TransferCuts::Never)
      return;
    auto &known = getAnalysis<KnownShardings>();
    FailureOr<func::FuncOp> entry = known.readEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    ShardingTable &table = *known.table;
    if (table.axes.empty())
      return;
    llvm::MapVector<int64_t, Crossing> crossings;
    for (auto copy : entry->getOps<CopyOp>())
      if (std::optional<int64_t> value = copy.getGradientOf())
        crossings[*value].gradient = copy;
      else
        crossings[copy.getId()].value = copy;
    TransferCutter cutter(getOperation(), table, choice);
    for (auto &[id, crossing] : crossings)
      if (failed(cutter.decide(crossing)))
        return signalPassFailure();
  }
};

} // namespace
