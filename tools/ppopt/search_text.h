//===- search_text.h - What --plan auto has found, as text ----------------===//

#ifndef PPOPT_TOOLS_SEARCH_TEXT_H
#define PPOPT_TOOLS_SEARCH_TEXT_H

#include "command_line.h"

#include "ppopt/Search/PlanSearch.h"

namespace ppopt {

/// Searches the plans of a parsed model, and sets the fastest as the plan of
/// the compilation. If none fits, says what is missing.
llvm::LogicalResult choosePlan(mlir::pp::Compilation &compilation,
                               const mlir::pp::PlanSpace &space,
                               mlir::pp::PlanSearchResult &found);

/// Replaces --shard auto in the plan of a parsed model by what it chooses, and
/// says so.
llvm::LogicalResult chooseShard(mlir::pp::Compilation &compilation);

/// Prints the best plans, and how those compare that people would try.
void printSearch(const mlir::pp::PlanSpace &space,
                 const mlir::pp::PlanSearchResult &found,
                 llvm::raw_ostream &out);

/// Returns the chosen plan as the file that --plan reads.
std::string writePlan(const mlir::pp::PlanSpace &space,
                      const mlir::pp::PlanSearchResult &found);

/// Returns one line: what was chosen, and the step that is predicted.
std::string describeChoice(const mlir::pp::PlanSpace &space,
                           const mlir::pp::PlanSearchResult &found);

} // namespace ppopt

#endif // PPOPT_TOOLS_SEARCH_TEXT_H
