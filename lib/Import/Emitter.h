//===- Emitter.h - Makes model ops of ATen ops ----------------------------===//

#ifndef PPOPT_LIB_IMPORT_EMITTER_H
#define PPOPT_LIB_IMPORT_EMITTER_H

#include "OpCall.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"

#include "mlir/IR/Builders.h"

#include <utility>

namespace mlir::pp::pt2 {

/// Returns the type of PyTorch's promotion of two types.
Dtype promote(Dtype one, Dtype other);

/// Creates ops at the end of the model's entry, with the location of the node
/// that they are for. An op that its operands do not allow is an error, of
/// which the first is kept; a value with a type like the op's stands for its
/// result.
class Emitter {
public:
  explicit Emitter(OpBuilder &builder)
      : builder(builder), loc(builder.getUnknownLoc()) {}

  OpBuilder &getBuilder() { return builder; }
  void setLoc(Location where) { loc = where; }

  /// Creates an op, whose arguments are those of its builder, and returns its
  /// first result.
  template <typename Op, typename... Args> Value make(Args &&...args) {
    OperationState state(loc, Op::getOperationName());
    // Builders that infer types end the process where they cannot.
    constexpr bool infers =
        Op::template hasTrait<InferTypeOpInterface::Trait>() &&
        !takesTypeFirst<Args...>;
    if constexpr (infers) {
      SmallVector<Type, 2> later(
          Op::template hasTrait<OpTrait::OneResult>() ? 1 : 2,
          builder.getNoneType());
      Op::build(builder, state, TypeRange(later), std::forward<Args>(args)...);
    } else {
      Op::build(builder, state, std::forward<Args>(args)...);
    }
    return create(state, infers);
  }

  /// The first error since the last call; empty if there was none.
  std::string takeError() { return std::exchange(error, {}); }

  /// Returns the element type of a model; null for types that models lack.
  Type elementType(Dtype type);
  RankedTensorType tensorType(Dtype type, ArrayRef<int64_t> shape);

  /// The value of a tensor: a constant becomes a pp.constant.
  Value value(const Tensor &tensor);
  Value constant(const HostTensor &tensor);
  /// A number as a tensor without dimensions.
  Value number(Dtype type, double value);
  /// A tensor argument cast to `type`, or a number of that type.
  Value operand(OpCall &call, llvm::StringRef name, Dtype type);

  Value castTo(Value value, Dtype type);
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value transpose(Value value, ArrayRef<int64_t> perm);
  /// Broadcasts as numpy does.
  Value broadcastTo(Value value, ArrayRef<int64_t> shape);
  Value slice(Value value, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes);
  /// `size` elements from `begin` on along one dimension.
  Value sliceDim(Value value, int64_t dim, int64_t begin, int64_t size);
  /// Zeros around a tensor, whose first element is at `offsets`.
  Value pad(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets);
  Value concat(ArrayRef<Value> values, int64_t dim);
  Value add(Value a, Value b) { return make<AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<SubOp>(a, b); }
  Value mul(Value a, Value b) { return make<MulOp>(a, b); }
  Value div(Value a, Value b) { return make<DivOp>(a, b); }
  Value scale(Value value, double factor);
  Value compare(ComparePredicate predicate, Value a, Value b);
  /// condition ? a : b with broadcasting; for booleans too.
  Value select(Value condition, Value a, Value b);
  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims,
               bool keepDims);
  /// Makes i32 of a boolean, and back.
  Value toInteger(Value boolean);
  Value toBoolean(Value number);
  /// The matmul of any two tensors, as torch.matmul defines it.
  Value matmul(Value lhs, Value rhs);

  Value dropout(Value value, double p);

  static ArrayRef<int64_t> shapeOf(Value value);
  static int64_t rankOf(Value value) { return shapeOf(value).size(); }
  static Dtype typeOf(Value value);

private:
  template <typename First, typename... Rest>
  static constexpr bool takesTypeFirst = std::is_convertible_v<First, Type>;

  Value create(OperationState &state, bool infers);
  Value wholeConstant(const HostTensor &tensor);
  void fail(std::string message) {
    if (error.empty())
      error = std::move(message);
  }

  OpBuilder &builder;
  Location loc;
  std::string error;
};

/// Makes the ops of one node, of which a tensor at least is no constant.
/// Returns one value per result; a result that cannot be made is null, and an
/// error where something reads it. Errors are the call's.
using Build = std::vector<Value> (*)(OpCall &call, Emitter &emit);

/// A row of the table of ops, from which docs/reference/import-ops.md is made.
struct OpRow {
  llvm::StringRef op; ///< "aten.linear.default"
  Build build;
  /// What is refused, in words for the docs; empty: nothing.
  llvm::StringRef refused = "";
};

// Each in a file of its name.
ArrayRef<OpRow> elementwiseRows();
ArrayRef<OpRow> shapeRows();
ArrayRef<OpRow> reductionRows();
ArrayRef<OpRow> normRows();
ArrayRef<OpRow> matmulRows();
ArrayRef<OpRow> convolutionRows();
ArrayRef<OpRow> attentionRows();
ArrayRef<OpRow> embeddingRows();
ArrayRef<OpRow> indexRows();
ArrayRef<OpRow> lossRows();
ArrayRef<OpRow> recurrentRows();
ArrayRef<OpRow> writeRows();
ArrayRef<OpRow> formulaRows();
ArrayRef<OpRow> scanRows();
ArrayRef<OpRow> marginRows();
ArrayRef<OpRow> diagonalRows();
ArrayRef<OpRow> linearAlgebraRows();
ArrayRef<OpRow> orderRows();
ArrayRef<OpRow> scatterRows();
ArrayRef<OpRow> randomRows();

/// Returns the row of an op under its canonical name; null if there is none.
const OpRow *findOpRow(llvm::StringRef op);
std::vector<const OpRow *> listOpRows();

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_EMITTER_H
