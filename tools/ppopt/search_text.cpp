//===- search_text.cpp - What --plan auto has found, as text --------------===//

#include "search_text.h"

#include "plan_text.h"

#include "ppopt/Search/ChooseShardings.h"
#include "ppopt/byte_amount.h"
#include "ppopt/shell_word.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::FoundPlan;
using mlir::pp::PlanFigures;
using mlir::pp::PlanSearchResult;
using mlir::pp::PlanSpace;

/// "computes 93 %, waits in tasks 2 %": the parts of the step of the place that
/// computes longest, without those below one in two hundred.
static std::string describeParts(const PlanFigures &figures) {
  std::string text;
  for (auto [what, time] : {std::pair("computes", figures.computing),
                            std::pair("waits in tasks", figures.waiting),
                            std::pair("sums", figures.summing),
                            std::pair("updates", figures.updating),
                            std::pair("idle", figures.getIdle())})
    if (time >= 0.005 * figures.step)
      text += formatv("{0}{1} {2:f0} %", text.empty() ? "" : ", ", what,
                      100 * time / figures.step)
                  .str();
  return text;
}

/// Returns the table's columns that come before the flags.
static std::string describeFigures(const PlanFigures &figures) {
  return formatv("{0,12}  {1,10}  {2,10}", spellTime(figures.step),
                 spellByteAmount(figures.memory), spellByteAmount(figures.sent))
      .str();
}

/// Prints two lines of the table, with a note before the flags.
static void printPlan(const FoundPlan &plan, const Twine &note,
                      raw_ostream &out) {
  out << describeFigures(*plan.figures) << "  " << note << plan.point.spell()
      << "\n"
      << std::string(18, ' ') << describeParts(*plan.figures) << "\n";
}

static void printObvious(const PlanSearchResult &found, raw_ostream &out) {
  double best = found.best.front().bound;
  for (const auto &[title, plan] : found.obvious) {
    out << "  " << left_justify(title, 16);
    if (plan.figures)
      printPlan(plan, formatv("x {0:f2}  ", plan.bound / best).str(), out);
    else if (!plan.refused.empty())
      out << "refused: " << plan.refused << "  " << plan.point.spell() << "\n";
    else
      out << "takes at least " << spellTime(plan.bound) << "  "
          << plan.point.spell() << "\n";
  }
}

void ppopt::printSearch(const PlanSpace &space, const PlanSearchResult &found,
                        raw_ostream &out) {
  out << space.base.source << ": " << spellCount(found.points) << " plans for "
      << spellCount(space.ranks) << " ranks and a batch of "
      << spellCount(found.rows) << "; " << spellCount(found.compiled)
      << " compiled, " << spellCount(found.refused)
      << " refused; none is faster than the first by more than "
      << formatv("{0:f1} %", 100 * found.gap / (1 + found.gap));
  if (found.endedAfter > 0)
    out << ", as far as " << spellCount(found.endedAfter)
        << " compilations of the model tell (--most-compilations)";
  out << "\n\nfastest" << std::string(13, ' ')
      << "step      memory        sent\n";
  for (auto [number, plan] : enumerate(found.best)) {
    out << formatv("  {0,-6}", number + 1);
    printPlan(plan, "", out);
  }
  if (!found.obvious.empty()) {
    out << "\nothers" << std::string(24, ' ')
        << "step      memory        sent\n";
    printObvious(found, out);
  }
  out << "\n";
}

std::string ppopt::describeChoice(const PlanSpace &space,
                                  const PlanSearchResult &found) {
  const FoundPlan &best = found.best.front();
  return space.base.source + ": note: --plan auto takes " + best.point.spell() +
         ": predicted, " + spellTime(best.bound) + " a step and " +
         spellByteAmount(best.figures->memory) + " a rank";
}

std::string ppopt::writePlan(const PlanSpace &space,
                             const PlanSearchResult &found) {
  const FoundPlan &best = found.best.front();
  return "# " + space.base.command + "\n# predicted: " + spellTime(best.bound) +
         " a step, " + spellByteAmount(best.figures->memory) + " a rank\n" +
         best.point.spell("\n") + "\n";
}

/// Says which of the given flags no plan can have with so many rows.
static std::string describeGiven(const PlanSpace &space, int64_t rows) {
  auto hasPlans = [&](const PlanSpace &of) {
    bool has = false;
    of.forEach(rows, [&](const mlir::pp::PlanPoint &) { has = true; });
    return has;
  };
  std::string sizes;
  for (const geometry::Axis &axis : space.kept)
    sizes += (sizes.empty() ? "" : ",") + axis.name + "=" +
             std::to_string(axis.size);
  SmallVector<std::string> given, atFault;
  auto add = [&](const Twine &flag, function_ref<void(PlanSpace &)> leaveOut) {
    given.push_back(flag.str());
    PlanSpace without = space;
    leaveOut(without);
    if (hasPlans(without))
      atFault.push_back(flag.str());
  };
  if (!space.kept.empty())
    add("--keep " + sizes, [](PlanSpace &of) { of.kept.clear(); });
  if (!space.choosesMicrobatches)
    add("--microbatches " + Twine(space.base.microbatches),
        [](PlanSpace &of) { of.choosesMicrobatches = true; });
  if (!space.choosesSchedule)
    add("--schedule " + space.base.schedule,
        [](PlanSpace &of) { of.choosesSchedule = true; });
  if (space.chunks)
    add("--chunks " + Twine(*space.chunks),
        [](PlanSpace &of) { of.chunks.reset(); });
  if (!space.choosesZero)
    add("--zero " + Twine(space.base.zero),
        [](PlanSpace &of) { of.choosesZero = true; });
  if (given.empty())
    return ", of whose axes none has more than " +
           spellCount(mlir::pp::kLargestAxis) +
           "; give other --ranks, or another --batch";
  if (atFault.empty())
    return " has " + join(given, " and ") + "; leave them out";
  return " has " + join(atFault, " and ") +
         (atFault.size() == 1 ? "; leave it out" : "; leave one of them out");
}

/// Says why no plan can be taken.
static LogicalResult refuse(const PlanSpace &space,
                            const PlanSearchResult &found) {
  raw_ostream &out = errs();
  out << space.base.source << ": error: ";
  if (found.points == 0) {
    out << "no plan for " << spellCount(space.ranks) << " ranks and a batch of "
        << spellCount(found.rows) << " rows" << describeGiven(space, found.rows)
        << "\n";
    return failure();
  }
  out << "none of " << spellCount(found.points) << " plans for "
      << spellCount(space.ranks) << " ranks ";
  if (!found.smallest) {
    out << "compiles; the first: " << found.why << "\n";
    return failure();
  }
  out << "fits in --device-memory " << spellByteAmount(*space.base.deviceMemory)
      << "; " << found.smallest->point.spell() << " takes least, "
      << spellByteAmount(found.smallest->figures->memory) << " a rank";
  if (found.ranksNeeded > 0)
    out << "; one fits with --ranks " << found.ranksNeeded;
  out << "\n";
  return failure();
}

LogicalResult ppopt::choosePlan(mlir::pp::Compilation &compilation,
                                const PlanSpace &space,
                                PlanSearchResult &found) {
  FailureOr<PlanSearchResult> result =
      mlir::pp::searchPlans(compilation, space);
  if (failed(result))
    return failure();
  found = std::move(*result);
  if (found.best.empty())
    return refuse(space, found);
  const mlir::pp::PlanPoint &best = found.best.front().point;
  compilation.setTriedPlan(space.getPlan(best), best.spell());
  return success();
}

LogicalResult ppopt::chooseShard(mlir::pp::Compilation &compilation) {
  mlir::pp::PlanOptions plan = compilation.getPlan();
  if (plan.shard != "auto")
    return success();
  FailureOr<std::string> found = mlir::pp::chooseShard(compilation);
  if (failed(found))
    return failure();
  plan.shard = *found;
  errs() << plan.source << ": note: --shard auto "
         << (found->empty() ? "leaves the model as it is"
                            : "is --shard " + shellWord(*found))
         << "\n";
  compilation.setPlan(plan);
  return success();
}
