//===- Import.h - Models of torch.export ----------------------------------===//

#ifndef PPOPT_IMPORT_IMPORT_H
#define PPOPT_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::pp {

namespace pt2 {
class Archive;
struct StoredTensor;
} // namespace pt2

/// The loss that is added to a graph that has none.
enum class ImportLoss { None, CrossEntropy, Mse, Bce };

/// Which dimension of an input is the batch.
struct BatchDim {
  std::string input; ///< empty: of each input that has the dimension
  int64_t dim = 0;
};

struct ImportOptions {
  std::string path; ///< of the archive
  ImportLoss loss = ImportLoss::None;
  std::string targets = "targets"; ///< the input that `loss` adds
  std::vector<BatchDim> batchDims; ///< of the others it is the first
  /// Only look whether all ops are supported: no module is made.
  bool onlyChecks = false;
};

/// An input of the model, for what is printed.
struct ImportedInput {
  std::string name;
  RankedTensorType type;
  RankedTensorType exported; ///< its dimensions as forward takes them
  bool isBatchFirst = true;
};

/// A parameter or a persistent buffer of the model, and where its value is.
struct ImportedTensor {
  std::string name;
  std::string value; ///< its name in the graph
  std::shared_ptr<pt2::StoredTensor> tensor;
};

class ImportedModel {
public:
  ImportedModel();
  ~ImportedModel();
  ImportedModel(ImportedModel &&);
  ImportedModel &operator=(ImportedModel &&);

  OwningOpRef<ModuleOp> module;
  /// The model of the same export with a batch of other rows, if a Dim names
  /// the batch: markFixedBatch (Driver/FixedBatch.h) compares them. Its
  /// parameters have no initial values. Null where the archive does not say
  /// how all sizes depend on the batch.
  OwningOpRef<ModuleOp> resized;
  bool hasBatchSymbol = false;
  std::vector<ImportedInput> inputs;
  std::vector<ImportedTensor> parameters, buffers;
  std::string torchVersion;
  /// What a user should know: outputs that were dropped, an export in
  /// evaluation mode.
  std::vector<std::string> notes;

  std::unique_ptr<pt2::Archive> archive;
};

/// Makes a model of an archive of torch.export.save, and loads its dialects.
/// Emits errors at the lines of Python that the archive names; all ops that are
/// not supported at once.
FailureOr<ImportedModel> importModel(MLIRContext *context,
                                     const ImportOptions &options);

/// Prints the model's file: functions, with the lines of Python as locations,
/// and the elements of long buffers at the end.
void printModel(ModuleOp module, llvm::raw_ostream &out);

/// Writes the values of parameters and buffers as safetensors. Returns an
/// error's text, or nothing.
std::string writeWeights(const ImportedModel &model, llvm::StringRef path);

/// Returns the reference of supported ops in Markdown.
std::string listImportOps();

} // namespace mlir::pp

#endif // PPOPT_IMPORT_IMPORT_H
