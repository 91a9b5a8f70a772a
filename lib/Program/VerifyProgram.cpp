//===- VerifyProgram.cpp - Checks the program that a module becomes -------===//
//
// The verifiers of the phases check that the program means what the model and
// the plan mean. Here its document is read as a runtime reads it, when a run
// starts: what that would refuse is not compiled.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Program.h"

#include "program/why_refused.h"

using namespace mlir;
using namespace mlir::pp;

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "ppopt/Program/Passes.h.inc"
} // namespace mlir::pp

namespace {

struct VerifyProgram : pp::impl::VerifyProgramBase<VerifyProgram> {
  void runOnOperation() override {
    FailureOr<schema::Program> program = buildProgram(getOperation());
    if (failed(program))
      return signalPassFailure();
    std::string wrong = ::ppopt::runtime::whyRefused(*program);
    if (!wrong.empty()) {
      getOperation().emitError("the program's ")
          << wrong << ": a run of it would not start. This is a defect of "
          << "ppopt: please report it with the model and the flags";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
