//===- plan_text.h - A plan's report as text and as a page ----------------===//

#ifndef PPOPT_TOOLS_PLAN_TEXT_H
#define PPOPT_TOOLS_PLAN_TEXT_H

#include "ppopt/Driver/PlanReport.h"
#include "ppopt/Program/PlanOptions.h"

#include "llvm/Support/raw_ostream.h"

namespace ppopt {

/// "dp=2 pp=4, batch 8, microbatches 4, 1f1b, adamw, threads 1, znver3"
std::string describePlan(const mlir::pp::PlanOptions &plan,
                         const mlir::pp::PlanReport &report);

/// What `ppopt plan` prints: stages, transfers and the pebble graph where there
/// are several, then each place's memory and work.
void printReport(const mlir::pp::PlanOptions &plan,
                 const mlir::pp::PlanReport &report, llvm::raw_ostream &out);

/// What `ppopt plan --html` writes.
schedule::Page makePage(const mlir::pp::PlanOptions &plan,
                        const mlir::pp::PlanReport &report);

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_TEXT_H
