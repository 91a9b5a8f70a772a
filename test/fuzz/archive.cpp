//===- archive.cpp - Fuzzes `ppopt import` --------------------------------===//
//
// The input is an archive of torch.export.save. It is refused with an error, or
// it becomes a model that verifies, prints and can be read again, and a file of
// weights.
//
//===----------------------------------------------------------------------===//

#include "input_file.h"
#include "mutate_archive.h"
#include "mutator.h"

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::pp;

/// Ends the run as a finding.
static void require(bool holds, llvm::StringRef what) {
  if (holds)
    return;
  llvm::errs() << "fuzz: " << what << "\n";
  std::abort();
}

static void checkModel(ImportedModel &model, MLIRContext &context) {
  require(succeeded(verify(*model.module)), "the module is wrong");
  std::string text;
  llvm::raw_string_ostream out(text);
  model.module->print(out, OpPrintingFlags().enableDebugInfo());
  require(bool(parseSourceString<ModuleOp>(text, &context)),
          "the printed module cannot be read: " + text);
}

static void checkWeights(const ImportedModel &model) {
  static const std::string path =
      "/dev/shm/ppopt-fuzz-" + std::to_string(::getpid());
  // An error of a storage's checksum is one that a user reads.
  (void)writeWeights(model, path);
  ::unlink(path.c_str());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  InputFile file(data, size);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool hasErrors = false;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    hasErrors |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    llvm::errs() << diagnostic << "\n";
    return success();
  });
  ImportOptions options;
  options.path = file.path();
  options.loss = ImportLoss(size % 16 < 4 ? size % 16 : 0);
  options.onlyChecks = size % 16 == 15;
  FailureOr<ImportedModel> model = importModel(&context, options);
  require(succeeded(model) != hasErrors, "an error, or none, is not told");
  if (failed(model) || options.onlyChecks)
    return 0;
  checkModel(*model, context);
  checkWeights(*model);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  return fuzz::mutateText(data, size, most, seed, [&](std::string_view bytes) {
    return fuzz::mutateArchive(bytes, seed);
  });
}
