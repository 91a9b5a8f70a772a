//===- plan_page.h - The page of `ppopt plan --html` ----------------------===//

#ifndef PPOPT_TOOLS_PLAN_PAGE_H
#define PPOPT_TOOLS_PLAN_PAGE_H

#include "ppopt/Driver/PlanOptions.h"
#include "ppopt/Driver/PlanReport.h"

namespace ppopt {

/// Returns the page of `ppopt plan --html`.
schedule::Page makePage(const mlir::pp::PlanOptions &plan,
                        const mlir::pp::PlanReport &report);

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_PAGE_H
