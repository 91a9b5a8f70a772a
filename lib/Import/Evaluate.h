//===- Evaluate.h - What the evaluations of ops share ---------------------===//

#ifndef PPOPT_LIB_IMPORT_EVALUATE_H
#define PPOPT_LIB_IMPORT_EVALUATE_H

#include "EvaluateConstants.h"

namespace mlir::pp::pt2 {

using Results = std::vector<HostTensor>;
/// One bit per dimension.
using DimBits = llvm::SmallVector<bool, 4>;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct EvaluatedOp {
  llvm::StringLiteral name;
  Evaluate evaluate;
  /// Of its tensors it reads the shapes alone: they need not be constants.
  bool readsShapes = false;
};

llvm::ArrayRef<EvaluatedOp> getCreationOps();
llvm::ArrayRef<EvaluatedOp> getUnaryOps();
llvm::ArrayRef<EvaluatedOp> getBinaryOps();
llvm::ArrayRef<EvaluatedOp> getSelectionOps();
llvm::ArrayRef<EvaluatedOp> getViewOps();
llvm::ArrayRef<EvaluatedOp> getPartOps();
llvm::ArrayRef<EvaluatedOp> getJoinOps();
llvm::ArrayRef<EvaluatedOp> getReductionOps();
llvm::ArrayRef<EvaluatedOp> getScanOps();
llvm::ArrayRef<EvaluatedOp> getIndexOps();
llvm::ArrayRef<EvaluatedOp> getMatmulOps();
llvm::ArrayRef<EvaluatedOp> getContractionOps();
llvm::ArrayRef<EvaluatedOp> getFormulaOps();

/// Whether all tensors of the call are constants; an error of the call
/// otherwise.
bool checkOperands(OpCall &call);
/// Returns the results if they have the types and shapes that the archive
/// gives them; an error of the call otherwise.
Results checkResults(OpCall &call, Results results);

/// Computes an op between the two checks. `compute` returns anything when it
/// has failed.
template <Results (*compute)(OpCall &)> Results checked(OpCall &call) {
  if (!checkOperands(call))
    return {};
  return checkResults(call, compute(call));
}
/// The same for an op that reads the shapes of its tensors alone.
template <Results (*compute)(OpCall &)> Results checkedShapes(OpCall &call) {
  call.has("self"); // it gives the type, which is the result's, or the shape
  return checkResults(call, compute(call));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A tensor among the arguments, after `checkOperands`.
inline const HostTensor &constant(OpCall &call, llvm::StringRef name) {
  return *call.tensor(name).constant;
}
/// A tensor, or a number of Python's as a tensor of rank 0: float64 or int64.
HostTensor tensorOrNumber(OpCall &call, llvm::StringRef name);
/// A number as an element of the type.
Scalar number(OpCall &call, llvm::StringRef name, Dtype type,
              std::optional<double> fallback = std::nullopt);
/// The type that PyTorch computes these arguments in when the result's type
/// does not say.
Dtype promote(OpCall &call, llvm::ArrayRef<llvm::StringRef> names);

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// "[2, 3]".
std::string spellShape(llvm::ArrayRef<int64_t> shape);
/// Whether the call may do that many steps of work; an error otherwise.
bool affords(OpCall &call, llvm::ArrayRef<int64_t> sizes);
/// The dimensions along which all elements are the same.
DimBits sameAlong(const HostTensor &tensor);
/// The shape with 1 where the bits are set.
Shape distinctShape(llvm::ArrayRef<int64_t> shape, const DimBits &same);
/// The shape that the tensors broadcast to; an error of the call if none.
Shape broadcastShape(OpCall &call, llvm::ArrayRef<Shape> shapes);
/// A tensor that broadcasts to `shape`; an error of the call if it does not.
HostTensor broadcast(OpCall &call, const HostTensor &tensor,
                     llvm::ArrayRef<int64_t> shape);
/// Elements in row-major order under another shape, where -1 is what is left. A
/// view whenever PyTorch could make one.
HostTensor reshape(OpCall &call, const HostTensor &tensor, Shape shape);

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

HostTensor permute(const HostTensor &tensor, llvm::ArrayRef<int64_t> dims);
/// A tensor of rank 0 with a dimension of size 1; others as they are.
HostTensor atLeastOneDim(const HostTensor &tensor);
HostTensor insertDim(const HostTensor &tensor, int64_t dim);
HostTensor removeDim(const HostTensor &tensor, int64_t dim, int64_t index = 0);
/// The elements start, start + step … along a dimension.
HostTensor sliceDim(const HostTensor &tensor, int64_t dim, int64_t start,
                    int64_t size, int64_t step = 1);

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

using ElementAt = llvm::function_ref<Scalar(llvm::ArrayRef<int64_t>)>;
/// A new tensor of the elements that a function of their index gives. The
/// function is called with the index 0 alone in the dimensions of `same`.
Results generate(OpCall &call, Dtype type, llvm::ArrayRef<int64_t> shape,
                 const DimBits &same, ElementAt elementAt);
/// A copy that may be written to.
Results copyElements(OpCall &call, const HostTensor &tensor);

using Elementwise = llvm::function_ref<Scalar(llvm::ArrayRef<Scalar>)>;
/// Applies a function to the elements of tensors that broadcast together.
Results elementwise(OpCall &call, Dtype type,
                    llvm::ArrayRef<HostTensor> operands, Elementwise compute);

/// Concatenates along a dimension; there is at least one tensor.
Results concatenate(OpCall &call, llvm::ArrayRef<HostTensor> tensors,
                    int64_t dim, Dtype type);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_EVALUATE_H
