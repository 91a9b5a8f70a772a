//===- ExportedProgram.h - A graph of torch.export ------------------------===//
//
// What model.json says, with what an importer needs alone, checked: names are
// defined before they are used, sizes are numbers, storages are in the archive.
// Dynamic sizes have the value of the example that was exported (their hint).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_EXPORTEDPROGRAM_H
#define PPOPT_LIB_IMPORT_EXPORTEDPROGRAM_H

#include "Archive.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mlir::pp::pt2 {

/// The codes of the archive, which are not those of c10.
enum class Dtype {
  u8 = 1,
  i8 = 2,
  i16 = 3,
  i32 = 4,
  i64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  boolean = 12,
  bf16 = 13,
};

/// PyTorch's name without "torch.": "float32".
llvm::StringRef spell(Dtype type);
bool isFloat(Dtype type);
int64_t byteSize(Dtype type);
std::optional<Dtype> dtypeFromCode(int64_t code);

/// More than any tensor of a model has, and far from overflow.
constexpr int64_t mostElements = int64_t{1} << 48;

using Shape = llvm::SmallVector<int64_t, 4>;
int64_t countElements(llvm::ArrayRef<int64_t> shape);

/// What is known of a tensor before it is computed.
struct TensorMeta {
  Dtype type = Dtype::f32;
  /// A type that models do not have, in words, of a tensor that has no shape.
  std::string unknownType;
  Shape shape;
  /// For each size the expression of which the shape has the value
  /// (SizeExpression.h); empty where the size is a number.
  llvm::SmallVector<std::string, 4> expressions;
  Shape strides;
  int64_t storageOffset = 0;
  bool requiresGrad = false;
};

struct Graph;

/// An argument of a node, or one that an output names.
struct Argument {
  enum class Kind {
    None,
    Tensor,  ///< names[0]
    Tensors, ///< names; an empty name is None
    Int,
    Ints,
    Float,
    Bool,
    Text,
    Dtype,
    SymInt,  ///< names[0], the result of another node
    SymInts, ///< names and ints: an empty name is the int
    Graph,
    Other, ///< layouts, devices, memory formats: text says which
  };
  Kind kind = Kind::None;
  std::vector<std::string> names;
  std::vector<int64_t> ints; ///< Int: one; Bool: 0 or 1; Dtype: the code
  double number = 0;
  std::string text;
  std::shared_ptr<Graph> graph;
};

struct NamedArgument {
  std::string name; ///< as the op's schema calls it
  Argument value;
};

/// A line of the user's Python, or of a library's that the user called.
struct SourceLine {
  std::string file; ///< empty if the archive does not say
  int64_t line = 0;
};

struct Node {
  std::string op; ///< "aten.linear.default"
  std::vector<NamedArgument> arguments;
  /// Names of results, those of a list one after the other.
  std::vector<std::string> results;
  SourceLine source;
  /// Qualified names and classes of the modules it stands in, outermost first.
  std::vector<std::pair<std::string, std::string>> modules;
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  llvm::StringMap<TensorMeta> tensors;
  llvm::StringMap<double> symbols;          ///< the hints of symbolic numbers
  llvm::StringMap<std::string> expressions; ///< of these
};

struct InputSpec {
  enum class Kind { Parameter, Buffer, Constant, User, UserConstant };
  Kind kind = Kind::User;
  std::string value;         ///< the name in the graph
  std::string name;          ///< qualified; the user's name of an input
  bool isPersistent = false; ///< of a buffer: state_dict() has it
};

struct OutputSpec {
  enum class Kind { User, BufferMutation, Other };
  Kind kind = Kind::User;
  std::string value; ///< empty: no tensor
  std::string target;
  std::string key; ///< where forward returns a dict or a data class
};

/// A tensor in a storage of the archive.
struct StoredTensor {
  std::string path; ///< the entry of the archive
  TensorMeta meta;
  bool isContiguous() const;
};

struct ExportedProgram {
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  llvm::StringMap<StoredTensor> weights, constants;
  std::string torchVersion;
  /// The most that a symbol can be, if the export limits it.
  llvm::StringMap<int64_t> mostOf;
};

/// Reads the archive's model and its lists of storages.
llvm::Expected<ExportedProgram> readProgram(const Archive &archive);

/// Reads a stored tensor's elements in row-major order.
llvm::Expected<std::vector<char>> readTensor(const Archive &archive,
                                             const StoredTensor &tensor);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_EXPORTEDPROGRAM_H
