//===- StepCopies.h - The copies of a step ----------------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_STEPCOPIES_H
#define PPOPT_ANALYSIS_STEPCOPIES_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace mlir::pp {

/// A copy of pp.step: a value of every microbatch, or once per step a borrowed
/// bucket's parameters or their gradients.
struct StepCopy {
  int64_t id = 0;
  int64_t from = 0, to = 0; ///< places
  /// The stage that makes the value, and the first one that reads it.
  int64_t fromStage = 0, toStage = 0;
  RankedTensorType type;
  std::optional<int64_t> gradientOf;
  bool requiresGrad = false; ///< some copy is the gradient of this one
  std::string value;         ///< for people: "s0.v1", or the bucket
  BucketOp bucket;           ///< null if a task makes the value
  bool isInTraining = false, isInEvaluation = false;
  /// How axes cut the value, before phase `kernels`; null if none does.
  ShardingAttr sharding;

  /// Whether it is made once per step.
  bool isOfStep() const { return static_cast<bool>(bucket); }
  /// Whether what it brings is a value: parameters are memory.
  bool isValue() const { return !bucket || gradientOf; }
  /// What a bucket's copy sends: its gradients or its parameters.
  BufferAttr getBuffer() const;
  /// For people: "x3", "b0_to_1".
  std::string getName() const;
};

/// The copies of a module's step, of training and of evaluation, by id.
class StepCopies {
public:
  explicit StepCopies(ModuleOp module);

  using Map = std::map<int64_t, StepCopy>;
  Map::const_iterator begin() const { return copies.begin(); }
  Map::const_iterator end() const { return copies.end(); }
  bool empty() const { return copies.empty(); }
  /// Returns null if the step has no copy of that id.
  const StepCopy *find(int64_t id) const {
    auto found = copies.find(id);
    return found == copies.end() ? nullptr : &found->second;
  }

private:
  Map copies;
};

/// Returns the module's step; null before phase partitioned.
StepOp findStep(ModuleOp module);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_STEPCOPIES_H
