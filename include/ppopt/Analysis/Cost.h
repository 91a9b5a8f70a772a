//===- Cost.h - Estimated times of ops ------------------------------------===//
//
// The work of ops follows from their iteration spaces, and its time from a
// device (docs/devices.md). The partitioning by cost, the simulated time of a
// schedule and `plan` use it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_COST_H
#define PPOPT_ANALYSIS_COST_H

#include "ppopt/Analysis/Device.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include <array>

namespace mlir::pp {

/// FLOPs of one matmul, or of those inside an attention op.
struct MatmulWork {
  enum Kind { Library, Attention, AttentionGradient };
  Kind kind = Library;
  ::ppopt::MatmulType type = ::ppopt::MatmulType::f32;
  double flops = 0;
  // Of one matrix; only of the library's.
  double m = 1, n = 1, k = 1;
  bool isTransposed = false; ///< the first operand lies by columns
};

/// What is computed element by element in one type.
struct ElementWork {
  double computed = 0; ///< elements of ops that compute them
  double moved = 0;    ///< elements of ops that only move them
  double scores = 0;   ///< operations on attention's scores
  /// In addition to one cheap operation for each computed element.
  double operations = 0, divisions = 0, functions = 0;
  double draws = 0;   ///< random numbers
  double drawing = 0; ///< those of the operations that draw them

  ElementWork &operator+=(const ElementWork &other);
};

/// The work that an op does on tensors.
struct Work {
  double flops = 0;    ///< of matmuls
  double elements = 0; ///< computed one by one, in all other ops
  double bytes = 0;    ///< read and written

  // The same in parts, by what their time depends on.
  SmallVector<MatmulWork, 1> matmuls;
  std::array<ElementWork, 3> ofType; ///< by MatmulType
  SmallVector<double, 2> traffic;    ///< bytes by launch
  double launches = 0;

  void addMatmul(const MatmulWork &matmul);
  /// Sets the bytes of the work of a single launch.
  void setBytes(double count);

  Work &operator+=(const Work &other);
  /// In nanoseconds.
  double getTime(const Device &device) const;
  /// Returns whether reading and writing takes longer than computing.
  bool isBoundByMemory(const Device &device) const;

private:
  double getComputeTime(const Device &device) const;
  double getMemoryTime(const Device &device) const;
};

/// Returns the bytes of a value whose type is a ranked tensor.
int64_t getBytes(Value value);

/// Returns whether an op is better recomputed than its result saved or sent: it
/// has one result, each element of which costs a bounded number of operations.
/// A parameter is not cheap.
bool isCheap(Operation *op);

/// Returns whether an op sums over a loop that two operands share: a matmul.
bool isMatmul(Operation *op);

/// Returns whether an op is a view of its operand or a constant: its result
/// costs nothing wherever it is read.
bool isFree(Operation *op);

/// Returns whether an op decides something by floats: a comparison, a cast to
/// an integer. A rounding error of an operand may change its result.
bool isDecision(Operation *op);

/// Returns the work of an op in the phases placed to scheduled; none for an op
/// without iteration space, a parameter or a constant. A composite has the
/// flops and elements of its decomposition and the bytes of its own operands
/// and results. A value between two elementwise ops is neither written nor
/// read: both are in one kernel.
Work estimateWork(Operation *op);

/// Returns the work of a launch, with the bytes of getKernelBytes.
Work estimateKernelWork(KernelOp kernel);

/// Returns the bytes that a launch reads from its arguments and writes to its
/// results.
double getKernelBytes(KernelOp kernel);

/// Returns the FLOPs of the matmuls inside a kernel.
int64_t getMatmulFlops(KernelOp kernel);

/// Returns the work of the ops that autodiff adds for `op`, given the gradients
/// of its results that have uses, to compute those of the operands in `needed`.
Work estimateBackwardWork(Operation *op, ArrayRef<bool> needed);

/// What the ops that autodiff adds for an op read of the forward.
struct BackwardReads {
  SmallVector<bool, 4> operands, results;
};

/// The times of ops on a device. Ops that are alike, as those of a model's
/// layers are, are estimated once. No op may change between two calls.
class OpTimes {
public:
  explicit OpTimes(const Device &device) : device(device) {}

  /// The time of estimateWork, in nanoseconds.
  double get(Operation *op);
  /// The time of estimateBackwardWork, in nanoseconds.
  double getBackward(Operation *op, ArrayRef<bool> needed);
  const BackwardReads &getBackwardReads(Operation *op, ArrayRef<bool> needed);

private:
  struct Known {
    Operation *op;
    SmallVector<uintptr_t> surroundings;
    double time;
    BackwardReads reads;
  };

  const Known &find(Operation *op, ArrayRef<bool> needed, bool isBackward);

  Device device;
  DenseMap<size_t, SmallVector<Known, 1>> known; ///< by hash
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_COST_H
