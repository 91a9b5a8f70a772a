//===- ChooseMemory.cpp - Options chosen under --device-memory ------------===//

#include "ChoosePlan.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

struct Choice {
  Recompute recompute;
  Prefetch prefetch;
};

/// The choices among options that are not given, from the fastest to the least
/// memory.
class Choices {
public:
  explicit Choices(const PlanOptions &plan)
      : hasRecompute(plan.choosesRecompute),
        hasPrefetch(plan.zero == 3 && plan.gather == Gather::task &&
                    plan.choosesPrefetch) {
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
    return llvm::join(llvm::make_filter_range(
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

void pp::chooseWithinMemory(Compilation &compilation, PlanOptions &plan,
                            raw_ostream &notes) {
  Choices choices(plan);
  if (!plan.deviceMemory || choices.list.size() == 1)
    return;
  std::string refused, reasonBefore;
  for (const Choice &choice : choices.list) {
    plan.recompute = choice.recompute;
    plan.prefetch = choice.prefetch;
    PlanOptions with = plan;
    chooseSchedule(compilation, with, llvm::nulls());
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
}
