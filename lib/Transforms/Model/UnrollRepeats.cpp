//===- UnrollRepeats.cpp - Writes out the iterations of repeats -----------===//
//
// Before: functions may have pp.repeat, nested, and in marks. After: none; each
// is replaced by copies of its body, and the model is what it would be if they
// were written out. The location of a copied op has the iteration.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/CountOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::pp {
#define GEN_PASS_DEF_UNROLLREPEATS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

uint64_t pp::countUnrolledOps(Operation *op) {
  uint64_t count = isa<RepeatOp>(op) ? 0 : 1;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!inner.hasTrait<OpTrait::IsTerminator>())
        count = llvm::SaturatingAdd(count, countUnrolledOps(&inner));
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return llvm::SaturatingMultiply(std::max<uint64_t>(count, 1),
                                    static_cast<uint64_t>(repeat.getCount()));
  return count;
}

/// Returns row `i` of the values.
static DenseElementsAttr getRow(EachOp each, int64_t i) {
  auto values = cast<DenseElementsAttr>(each.getValues());
  RankedTensorType type = each.getType();
  if (values.isSplat())
    return values.resizeSplat(type);
  auto row =
      std::next(values.value_begin<Attribute>(), i * type.getNumElements());
  return DenseElementsAttr::get(
      type, llvm::to_vector(
                llvm::make_range(row, std::next(row, type.getNumElements()))));
}

namespace {

/// Writes out one repeat, in whose body there is none.
class Unroller {
public:
  explicit Unroller(RepeatOp repeat)
      : repeat(repeat), builder(repeat),
        placeholder(("{" + repeat.getIndex() + "}").str()) {
    repeat.getBody().walk([&](Operation *op) {
      if (isNumbered(op))
        numbered.insert(op);
    });
  }

  void run() {
    Block &body = repeat.getBody().front();
    SmallVector<Value> values(repeat.getInits());
    for (int64_t i = 0, count = repeat.getCount(); i < count; ++i) {
      IRMapping mapping;
      mapping.map(body.getArguments(), values);
      copyOps(body, mapping, i);
      values = llvm::map_to_vector(
          body.getTerminator()->getOperands(),
          [&](Value value) { return mapping.lookupOrDefault(value); });
    }
    repeat.replaceAllUsesWith(values);
    repeat.erase();
  }

private:
  /// Returns whether the op differs between iterations.
  bool isNumbered(Operation *op) {
    if (auto each = dyn_cast<EachOp>(op))
      return each.getIndex() == repeat.getIndex();
    WalkResult walked = op->getAttrDictionary().walk([&](StringAttr text) {
      return text.getValue().contains(placeholder) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
    });
    return walked.wasInterrupted();
  }

  /// Copies the ops of the body for iteration `i`.
  void copyOps(Block &body, IRMapping &mapping, int64_t i) {
    std::string number = std::to_string(i);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](StringAttr text) -> std::optional<Attribute> {
      std::string changed = text.str();
      for (size_t at = 0;
           (at = changed.find(placeholder, at)) != std::string::npos;
           at += number.size())
        changed.replace(at, placeholder.size(), number);
      return StringAttr::get(changed, text.getType());
    });
    StringAttr iteration =
        builder.getStringAttr(repeat.getIndex() + " = " + number);
    for (Operation &op : body.without_terminator()) {
      builder.clone(op, mapping);
      op.walk([&](Operation *original) {
        Operation *copy = mapping.lookup(original);
        copy->setLoc(FusedLoc::get(original->getContext(),
                                   {original->getLoc(), repeat.getLoc()},
                                   iteration));
        if (!numbered.contains(original))
          return;
        if (auto each = dyn_cast<EachOp>(copy))
          makeConstant(each, cast<EachOp>(original), mapping, i);
        else
          replacer.replaceElementsIn(copy);
      });
    }
  }

  void makeConstant(EachOp each, EachOp original, IRMapping &mapping,
                    int64_t i) {
    OpBuilder at(each);
    auto constant = ConstantOp::create(at, each.getLoc(), getRow(each, i));
    each.replaceAllUsesWith(constant.getResult());
    mapping.map(original.getResult(), constant.getResult());
    each.erase();
  }

  RepeatOp repeat;
  OpBuilder builder;
  std::string placeholder;        ///< "{i}"
  DenseSet<Operation *> numbered; ///< ops that differ between iterations
};

struct UnrollRepeats : pp::impl::UnrollRepeatsBase<UnrollRepeats> {
  void runOnOperation() override {
    // Inner ones first.
    SmallVector<RepeatOp> repeats;
    getOperation().walk([&](RepeatOp repeat) { repeats.push_back(repeat); });
    for (RepeatOp repeat : repeats) {
      if (repeat->getParentOfType<RepeatOp>())
        continue;
      if (countUnrolledOps(repeat) > kMostOps) {
        repeat.emitError("with its iterations written out this has more than ")
            << kMostOps << " ops; repeat less often or less";
        return signalPassFailure();
      }
    }
    for (RepeatOp repeat : repeats)
      Unroller(repeat).run();
  }
};

} // namespace
