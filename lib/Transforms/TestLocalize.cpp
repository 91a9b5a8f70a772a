//===- TestLocalize.cpp - A remark with what ops record of their cuts -----===//

#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TESTLOCALIZE
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Holds one array for each loop: axes and parts in turn, outermost first.
constexpr StringLiteral kCuts = "test.cuts";

/// Returns the cuts of a loop, each of the part that the one before leaves.
AxisCuts readCuts(ArrayAttr list, int64_t extent) {
  AxisCuts cuts;
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    int64_t parts = cast<IntegerAttr>(list[i + 1]).getInt();
    cuts.push_back({cast<StringAttr>(list[i]),
                    indexOf(KeyElement::Coordinates) + int64_t(i / 2), parts,
                    extent});
    extent /= parts;
  }
  return cuts;
}

struct TestLocalize : pp::impl::TestLocalizeBase<TestLocalize> {
  void runOnOperation() override {
    getOperation()->walk([&](IterationSpaceOpInterface op) {
      auto lists = op->getAttrOfType<ArrayAttr>(kCuts);
      if (!lists)
        return;
      op->removeAttr(kCuts);
      Localization localization(op);
      for (auto [cuts, list, loop] :
           llvm::zip(localization.loops, lists.getAsRange<ArrayAttr>(),
                     localization.space.loops))
        cuts = readCuts(list, loop.extent);
      op.localize(localization);
      op->emitRemark() << op->getAttrDictionary()
                       << (op.needsRandomKey() ? " needs the random key" : "");
    });
  }
};

} // namespace
