//===- OpCall.h - One node of a graph, with its arguments' values ---------===//

#ifndef PPOPT_LIB_IMPORT_OPCALL_H
#define PPOPT_LIB_IMPORT_OPCALL_H

#include "HostTensor.h"
#include "OpNames.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace mlir::pp::pt2 {

/// The tensor of which another is a view, and the node that makes the view;
/// null if it only gives the tensor another name.
struct ViewOf {
  std::string base; ///< empty: of none
  const Node *node = nullptr;
  const Graph *graph = nullptr;
};

/// A tensor while a graph is imported: a constant, or a value of the model.
struct Tensor {
  Dtype type = Dtype::f32;
  Shape shape;
  std::optional<HostTensor> constant;
  mlir::Value value; ///< null for constants
  /// Views of one tensor have the same number.
  int64_t storage = 0;
  ViewOf view = {};
  /// Of rows that a mask selects: whether each of all is selected.
  mlir::Value kept = {};

  int64_t getRank() const { return shape.size(); }
};

/// Elements along one dimension: `size` of them, each `step`-th from `start`
/// on.
struct DimRange {
  int64_t dim = 0, start = 0, size = 0, step = 1;
};

/// What a graph's names stand for so far.
struct Environment {
  llvm::StringMap<Tensor> tensors;
  llvm::StringMap<double> symbols;
};

/// A node's arguments by the names of the op's schema. An argument that is
/// missing without a default, or of another kind, is an error of the call: the
/// first is kept, and what is returned can be computed with. Trailing arguments
/// that have the schema's default are not in an archive.
class OpCall {
public:
  OpCall(const Node &node, const Graph &graph, const Environment &environment)
      : node(node), op(canonicalName(node.op)), graph(graph),
        environment(environment) {}

  const Node &getNode() const { return node; }
  /// The canonical name of the op.
  llvm::StringRef getOp() const { return op; }

  /// Whether the argument is given and is not None.
  bool has(llvm::StringRef name) const;
  const Tensor &tensor(llvm::StringRef name);
  /// Null if it is missing or None.
  const Tensor *optionalTensor(llvm::StringRef name);
  /// A list of tensors, of which none is None.
  std::vector<const Tensor *> tensors(llvm::StringRef name);
  /// The same; null for None.
  std::vector<const Tensor *> optionalTensors(llvm::StringRef name);
  /// Whether the argument is a tensor, of an op that takes numbers too.
  bool isTensor(llvm::StringRef name) const;
  /// Whether a number was an int or a bool for Python.
  bool isIntegral(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name,
                  std::optional<int64_t> fallback = std::nullopt);
  double number(llvm::StringRef name,
                std::optional<double> fallback = std::nullopt);
  bool flag(llvm::StringRef name, bool fallback);
  /// A list of ints, or one int; the fallback where it is missing or None.
  Shape integers(llvm::StringRef name,
                 std::optional<Shape> fallback = std::nullopt);
  bool isText(llvm::StringRef name) const;
  llvm::StringRef text(llvm::StringRef name, llvm::StringRef fallback);
  std::optional<Dtype> dtype(llvm::StringRef name);
  /// A dimension of a tensor of `rank`; a negative one counts from the end.
  int64_t dim(llvm::StringRef name, int64_t rank,
              std::optional<int64_t> fallback = std::nullopt);
  /// Such dimensions in increasing order; all where the list is missing, None
  /// or empty.
  Shape dims(llvm::StringRef name, int64_t rank);
  int64_t wrapDim(int64_t dim, int64_t rank);

  /// The arguments of a slice of Python (dim, start, end, step) of a tensor.
  DimRange slice(llvm::ArrayRef<int64_t> shape);
  /// The one element of a select (dim, index).
  DimRange select(llvm::ArrayRef<int64_t> shape);

  /// What the archive says of a result.
  const TensorMeta &result(unsigned number = 0);
  unsigned getResults() const { return node.results.size(); }

  /// The name of an argument that is given and that nothing has asked for;
  /// empty if there is none. What only says where a result is, or what shape
  /// and type it has, is known from elsewhere.
  std::string findIgnoredArgument() const;

  /// Tensors among the arguments, in order, without None.
  std::vector<const Tensor *> allTensors();

  /// The error of this call: "attention dropout is not supported: …".
  void fail(const llvm::Twine &message) {
    if (error.empty())
      error = message.str();
  }
  bool failed() const { return !error.empty(); }
  const std::string &getError() const { return error; }

private:
  const Argument *find(llvm::StringRef name) const;
  const Argument *need(llvm::StringRef name, bool isNeeded);
  const Tensor &lookUp(llvm::StringRef name);
  double symbol(llvm::StringRef name);

  const Node &node;
  std::string op;
  const Graph &graph;
  const Environment &environment;
  mutable llvm::StringSet<> asked;
  std::string error;
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_OPCALL_H
