//===- Shardings.h - How tensors are cut over axes --------------*- C++ -*-===//
//
// docs/sharding.md says what the terms mean. Axes have numbers here; in the IR
// they have names (#pp.sharding).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_SHARDINGS_H
#define PPOPT_ANALYSIS_SHARDINGS_H

#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// An axis that shards tensors.
struct ShardingAxis {
  StringAttr name;
  int64_t parts;    ///< coordinates, at least 2
  bool splitsBatch; ///< it cuts the rows of the inputs
  int64_t at;       ///< element of the random key with a rank's coordinate
  /// Each rank and microbatch has all parts: cut loops and shapes stay whole,
  /// and the axis only tells parts of sums over rows from complete ones.
  bool isLocal = false;
};

/// The name of the axis of single rows.
inline constexpr llvm::StringLiteral kRowAxis = "each_row";

/// Returns an axis that cuts a batch of `rows` rows into single ones: no rank
/// has a coordinate on it.
ShardingAxis getRowAxis(MLIRContext *context, int64_t rows);

/// Some of the axes, by number: bit i is axis i.
using AxisSet = uint32_t;

inline bool contains(AxisSet axes, unsigned axis) { return axes >> axis & 1; }
inline AxisSet onlyAxis(unsigned axis) { return AxisSet(1) << axis; }

/// The axes that shard tensors, in the order of the mesh. The microbatch is the
/// last, or the first if the plan is by microbatch: those of the batch cut its
/// rows in this order.
class ShardingAxes {
public:
  /// The axes of a plan with more than one coordinate. Places do not shard. If
  /// no axis splits the batch and evaluations sum over several batches, its
  /// rows are an axis.
  static ShardingAxes of(PlanOp plan);
  explicit ShardingAxes(ArrayRef<ShardingAxis> axes) : axes(axes) {}

  unsigned size() const { return axes.size(); }
  bool empty() const { return axes.empty(); }
  const ShardingAxis &operator[](unsigned axis) const { return axes[axis]; }
  std::optional<unsigned> find(StringAttr name) const;
  AxisSet getBatchAxes() const;
  /// Those over which ranks differ: a task can exchange values over them.
  /// Microbatches and single rows are computed one after the other.
  AxisSet getRankAxes() const;
  bool hasLocal() const;
  /// The number of coordinates on some axes together.
  int64_t countParts(AxisSet set) const;
  SmallVector<StringAttr> getNames(AxisSet set) const;

private:
  SmallVector<ShardingAxis> axes;
};

/// An axis that cuts a dimension or a loop: index i has the coordinate
/// (i % period) / (period / parts).
struct Cut {
  unsigned axis;
  int64_t period;
  bool operator==(const Cut &other) const {
    return axis == other.axis && period == other.period;
  }
};

/// The cuts of a dimension or a loop, outermost first: periods fall.
using Cuts = SmallVector<Cut, 2>;

/// How a tensor is cut, and the axes over which it is a partial result.
struct Sharding {
  SmallVector<Cuts, 4> dims;
  AxisSet sums = 0, maxima = 0;

  Sharding() = default;
  explicit Sharding(unsigned rank) : dims(rank) {}
  bool operator==(const Sharding &other) const {
    return dims == other.dims && sums == other.sums && maxima == other.maxima;
  }
  bool operator!=(const Sharding &other) const { return !(*this == other); }
  AxisSet getPartial() const { return sums | maxima; }
  AxisSet getCutAxes() const;
  /// The axes over which it is not the same for all coordinates.
  AxisSet getAxes() const { return getPartial() | getCutAxes(); }
  /// The dimension that the axis cuts, and its cut.
  std::optional<std::pair<unsigned, Cut>> findCut(unsigned axis) const;
  /// The cuts over some axes alone, and no partial result.
  Sharding onlyCuts(AxisSet axes) const;
};

/// Returns the numbers of those that are partial sums over the axis.
SmallVector<unsigned> findPartialSums(ArrayRef<Sharding> shardings,
                                      unsigned axis);

/// Inserts a cut in its order. Returns false, and changes nothing, if the
/// digits of the index overlap, or the cut does not divide `extent`.
bool addCut(Cuts &cuts, Cut cut, int64_t extent, const ShardingAxes &axes);

/// Inserts cuts whose digits of the index overlap none of `cuts`.
void mergeCuts(Cuts &cuts, ArrayRef<Cut> others);

/// The loop that a cut of a dimension lies on, and its period in iterations.
struct LoopCut {
  unsigned loop;
  int64_t period;
};

/// Returns the loop of a dimension that an axis with `parts` cuts. Returns
/// nothing if its digit of the index lies on no single loop: a reshape that
/// mixes, a dimension that is broadcast.
std::optional<LoopCut> projectToLoop(const IterationSpace &space,
                                     ArrayRef<unsigned> dimLoops, int64_t parts,
                                     int64_t period);

/// Returns the cuts of each loop if a tensor is cut as `sharding` says. Returns
/// nothing if a cut lies on no single loop, or two overlap on one.
std::optional<SmallVector<Cuts>> projectToLoops(const IterationSpace &space,
                                                const TensorLoops &tensor,
                                                const Sharding &sharding,
                                                const ShardingAxes &axes);

/// Returns the cuts of a tensor if loops are cut as `loops` says.
Sharding projectToTensor(const IterationSpace &space, const TensorLoops &tensor,
                         ArrayRef<Cuts> loops);

bool runsOver(const TensorLoops &tensor, unsigned loop);

/// Conversions from and to the attribute. `shape` is global. Axes that are not
/// among `axes` are left out. Emits an error if a dimension is not divided.
FailureOr<Sharding> readSharding(const ShardingAxes &axes, ShardingAttr attr,
                                 ArrayRef<int64_t> shape,
                                 function_ref<InFlightDiagnostic()> emitError);
ShardingAttr writeSharding(MLIRContext *context, const ShardingAxes &axes,
                           const Sharding &sharding, ArrayRef<int64_t> shape);

/// Spells an attribute as --shard takes it: "[{}, {tp}]".
std::string spellSharding(ShardingAttr attr);

/// The shape of what one coordinate has.
SmallVector<int64_t> getLocalShape(const ShardingAxes &axes,
                                   const Sharding &sharding,
                                   ArrayRef<int64_t> shape);

/// Bytes that a rank sends to turn one sharding of a value into another, where
/// the whole value has `bytes`.
double countReshardBytes(const ShardingAxes &axes, const Sharding &from,
                         const Sharding &to, double bytes);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_SHARDINGS_H
