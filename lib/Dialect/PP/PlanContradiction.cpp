//===- PlanContradiction.cpp - Plan options that exclude one another ------===//

#include "ppopt/Dialect/PP/PlanContradiction.h"

#include "llvm/ADT/Twine.h"

using namespace mlir::pp;
using llvm::Twine;

std::string mlir::pp::findContradiction(const PlanChoices &choices) {
  if ((choices.sync == Sync::stale) != (choices.bound > 0))
    return "--sync stale takes a number of steps, as in --sync stale=4";
  if (choices.sync != Sync::step) {
    std::string sync = (Twine("--sync ") + schema::spell(choices.sync)).str();
    if (choices.zero >= 2)
      return (Twine("--zero ") + Twine(choices.zero) + " with " + sync +
              ": ranks need whole parameters and gradients, because each "
              "trains at its own pace; leave out --zero: masters and "
              "optimizer states are sharded anyway")
          .str();
    if (choices.launch == Launch::local)
      return "--launch local with " + sync +
             ": one process has nobody to wait for; leave one of them out";
  }
  if (choices.gather != Gather::task && choices.zero != 3)
    return (Twine("--gather ") + schema::spell(choices.gather) +
            " is of --zero 3, whose tasks gather parameters; leave it out")
        .str();
  if (choices.summed != GradDtype::f32 && choices.zero < 2)
    return (Twine("--grad-dtype ") + schema::spell(choices.summed) +
            " is of --zero 2 and 3, which sum gradients as tasks compute "
            "them; the accumulators that --zero " +
            Twine(choices.zero) + " sums keep their type")
        .str();
  if (choices.launch == Launch::local && choices.zero >= 2)
    return (Twine("--zero ") + Twine(choices.zero) +
            " with --launch local: tasks of one process run one after the "
            "other and can't gather or sum what others have; leave out "
            "--launch local, or use --zero 1")
        .str();
  return "";
}
