//===- compile_model.cpp - Compiles a model without the command line ------===//
//
//   ppopt-compile-model MODEL EXECUTABLE FOLDER PREFIX
//
//===----------------------------------------------------------------------===//

#include "ppopt/Driver/Compilation.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::pp;

int main(int, char **argv) {
  PlanOptions plan;
  plan.source = argv[1];
  plan.mesh = {{"dp", 2}};
  plan.microbatches = 2;
  plan.schedule = "auto";
  plan.target.threads = 1;
  if (std::string wrong = completePlan(plan); !wrong.empty()) {
    llvm::errs() << "error: " << wrong << "\n";
    return 2;
  }
  Compilation compilation(plan, {/*prefix=*/argv[4]});
  if (failed(compilation.parse()))
    return 1;
  compilation.choosePlan(llvm::errs());
  return failed(compilation.run(Phase::Native)) ||
         failed(compilation.writeExecutable(argv[2], argv[3]));
}
