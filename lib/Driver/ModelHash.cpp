//===- ModelHash.cpp - A hash of what a model computes --------------------===//

#include "ppopt/Driver/ModelHash.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Device.h"
#include "ppopt/Dialect/PP/DeclaredAttributes.h"
#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/Origin.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Passes.h"
#include "ppopt/Transforms/Placement/AssignPlaces.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

/// Drops what belongs to a plan and not to the model (the device, the cluster,
/// thresholds, marks and shardings), and buffers, which no step reads.
static void dropPlan(ModuleOp model) {
  setDevice(model, getBuiltinDevice());
  setCluster(model, std::nullopt);
  model->removeAttr(kThresholdsAttr);
  model->removeAttr(kOriginAttr);
  model->removeAttr(kBuffersAttr);
  FailureOr<func::FuncOp> entry = findEntry(model);
  if (succeeded(entry))
    (void)dissolveMarks(*entry, std::numeric_limits<int64_t>::max());
  model.walk([](ParamOp param) { param.removeShardAttr(); });
  for (auto function : model.getOps<func::FuncOp>())
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      function.removeArgAttr(i, kShardAttr);
  model.walk([](CheckpointOp mark) {
    mark.replaceAllUsesWith(mark.getX());
    mark.erase();
  });
}

static bool runPass(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager manager(module.getContext());
  manager.addPass(std::move(pass));
  return succeeded(manager.run(module));
}

std::string pp::hashModel(ModuleOp model) {
  // A model that a pass rejects is rejected later, with the user's flags.
  ScopedDiagnosticHandler silence(model.getContext(),
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = model.clone();
  if (runPass(*copy, createInlineCalls()))
    dropPlan(*copy);
  OwningOpRef<ModuleOp> resized = copy->clone();
  if (runPass(*resized, createResizeBatch({/*batch=*/1})))
    copy = std::move(resized);
  for (auto function : copy->getOps<func::FuncOp>())
    for (StringRef about : {kFixedBatchAttr, kUnnamedBatchAttr})
      function->removeAttr(about);
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return llvm::formatv("{0:x-16}{1:x-16}", hash.high64, hash.low64).str();
}
