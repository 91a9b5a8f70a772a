//===- Importer.h - Makes a model of an exported program --------*- C++ -*-===//

#ifndef PPOPT_LIB_IMPORT_IMPORTER_H
#define PPOPT_LIB_IMPORT_IMPORTER_H

#include "ImportGraph.h"

#include "ppopt/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp::pt2 {

/// Returns which dimension of an input is the batch.
int64_t findBatchDim(const ImportOptions &options, StringRef input,
                     int64_t rank);

/// Makes a model of a program whose archive has been read.
class Importer {
public:
  Importer(MLIRContext *context, const ImportOptions &options,
           ImportedModel &model, const ExportedProgram &program,
           bool readsValues)
      : context(context), options(options), model(model), program(program),
        statistics(findRunningStatistics(program)),
        readsValues(readsValues && !options.onlyChecks),
        where(FileLineColLoc::get(context, options.path, 0, 0)),
        builder(context), emit(builder) {}

  LogicalResult run();

private:
  bool isStatistic(const OutputSpec &output) const;
  LogicalResult checkOutputs();
  FailureOr<Value> addArgument(StringRef name, RankedTensorType type);
  LogicalResult checkBatchDims();
  LogicalResult addInput(const InputSpec &spec);
  LogicalResult addParameter(const InputSpec &spec,
                             std::optional<InitKind> ofState = {});
  LogicalResult checkAgrees(const InputSpec &spec, const TensorMeta &stored);
  LogicalResult addConstant(const InputSpec &spec);
  LogicalResult addPersistentBuffers();
  FailureOr<InitAttr> describeInit(const StoredTensor &stored);
  void chooseResult();
  Value findLoss();
  Value addLoss(Value output);
  void noteUnreadInputs();
  const StoredTensor *findStored(const InputSpec &spec);
  InFlightDiagnostic error() { return emitError(where); }

  MLIRContext *context;
  const ImportOptions &options;
  ImportedModel &model;
  const ExportedProgram &program;
  RunningStatistics statistics;
  bool readsValues; ///< of parameters
  Location where;
  OpBuilder builder;
  Emitter emit;
  func::FuncOp entry;
  Environment environment;
  const OutputSpec *result = nullptr; ///< of the loss
  std::vector<std::string> results;   ///< what is computed
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_IMPORTER_H
