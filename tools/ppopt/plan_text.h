//===- plan_text.h - Prints a plan's report as text -----------------------===//

#ifndef PPOPT_TOOLS_PLAN_TEXT_H
#define PPOPT_TOOLS_PLAN_TEXT_H

#include "ppopt/Driver/PlanOptions.h"
#include "ppopt/Driver/PlanReport.h"

#include "llvm/Support/raw_ostream.h"

namespace ppopt {

/// Returns "1,234,567" for 1234567.
std::string spellCount(int64_t count);

/// Returns "12.35 ms".
std::string spellTime(double nanoseconds);

/// Returns "dp=2 pp=4, batch 8, microbatches 4, 1f1b, adamw, threads 1,
/// znver3".
std::string describePlan(const mlir::pp::PlanOptions &plan,
                         const mlir::pp::PlanReport &report);

/// Prints the output of `ppopt plan`: stages, transfers and the pebble graph if
/// there is more than one, then each place's memory and work.
void printReport(const mlir::pp::PlanOptions &plan,
                 const mlir::pp::PlanReport &report, llvm::raw_ostream &out);

/// Returns the bytes that a rank of the place sends to other places in a step.
int64_t sumSent(const mlir::pp::PlaceReport &place);

/// Returns whether ranks wait for each other inside tasks.
bool hasCollectivesInTasks(const mlir::pp::PlanReport &report);

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_TEXT_H
