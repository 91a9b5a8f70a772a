//===- auto_memory.cpp - Options chosen under --device-memory -------------===//

#include "auto_memory.h"

#include "auto_schedule.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Gather;
using mlir::pp::Phase;
using mlir::pp::PlanOptions;
using mlir::pp::Prefetch;
using mlir::pp::Recompute;

namespace {

struct Choice {
  Recompute recompute;
  Prefetch prefetch;
};

/// The choices among options that are not given, from the fastest to the least
/// memory.
class Choices {
public:
  Choices(const Arguments &arguments, const PlanOptions &plan)
      : hasRecompute(!arguments.has("recompute")),
        hasPrefetch(plan.zero == 3 && plan.gather == Gather::task &&
                    !arguments.has("prefetch")) {
    auto recomputes =
        SmallVector<Recompute, 2>{Recompute::cheap, Recompute::layer};
    auto prefetches =
        SmallVector<Prefetch, 2>{Prefetch::bucket, Prefetch::none};
    if (!hasRecompute)
      recomputes = {plan.recompute};
    if (!hasPrefetch)
      prefetches = {plan.prefetch};
    for (Recompute recompute : recomputes)
      for (Prefetch prefetch : prefetches)
        list.push_back({recompute, prefetch});
  }

  /// "--recompute layer --prefetch none", or "layer and none": those of options
  /// that are not given.
  std::string spell(const Choice &choice, bool asFlags) const {
    std::string text;
    auto add = [&](StringRef flag, StringRef word) {
      if (!text.empty())
        text += asFlags ? " " : " and ";
      text += asFlags ? ("--" + flag + " " + word).str() : word.str();
    };
    if (hasRecompute)
      add("recompute", schema::spell(choice.recompute));
    if (hasPrefetch)
      add("prefetch", schema::spell(choice.prefetch));
    return text;
  }
  /// "--recompute or --prefetch"
  std::string spellFlags() const {
    return join(llvm::make_filter_range(
                    ArrayRef<StringRef>{hasRecompute ? "--recompute" : "",
                                        hasPrefetch ? "--prefetch" : ""},
                    [](StringRef flag) { return !flag.empty(); }),
                " or ");
  }

  SmallVector<Choice> list;

private:
  bool hasRecompute, hasPrefetch;
};

} // namespace

void ppopt::chooseWithinMemory(Compilation &compilation,
                               const Arguments &arguments, PlanOptions &plan,
                               raw_ostream &notes) {
  Choices choices(arguments, plan);
  if (!plan.deviceMemory || choices.list.size() == 1)
    return;
  std::string refused, reasonBefore;
  for (const Choice &choice : choices.list) {
    plan.recompute = choice.recompute;
    plan.prefetch = choice.prefetch;
    PlanOptions with = plan;
    chooseSchedule(compilation, with, nulls());
    std::string reason;
    if (compilation.tryPlan(with, Phase::Kernels, &reason)) {
      if (!refused.empty())
        notes << plan.source << ": note: --device-memory takes "
              << choices.spell(choice, /*asFlags=*/true) << refused << "\n";
      break;
    }
    // An error that does not depend on what is recomputed is not about memory.
    if (reason == reasonBefore &&
        choice.recompute != choices.list.front().recompute) {
      plan.recompute = choices.list.front().recompute;
      plan.prefetch = choices.list.front().prefetch;
      break;
    }
    reasonBefore = reason;
    refused +=
        "; with " + choices.spell(choice, /*asFlags=*/false) + ", " + reason;
    if (&choice == &choices.list.back())
      notes << plan.source << ": note: no " << choices.spellFlags() << " fits"
            << refused << "\n";
  }
  compilation.setPlan(plan);
}
