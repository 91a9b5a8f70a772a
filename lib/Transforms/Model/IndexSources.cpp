//===- IndexSources.cpp - Where index values come from --------------------===//

#include "ppopt/Transforms/Model/IndexSources.h"

#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"

#include <set>
#include <tuple>

using namespace mlir;
using namespace mlir::pp;

SmallVector<ElementBox> pp::findIndexSources(Value value) {
  ArrayRef<int64_t> shape = getShape(value);
  SmallVector<ElementBox> worklist = {{value,
                                       SmallVector<int64_t>(shape.size(), 0),
                                       SmallVector<int64_t>(shape)}};
  SmallVector<ElementBox> found;
  std::set<std::tuple<const void *, SmallVector<int64_t>, SmallVector<int64_t>>>
      seen;
  while (!worklist.empty()) {
    ElementBox box = worklist.pop_back_val();
    box.value = throughCopies(box.value);
    if (!seen.insert({box.value.getAsOpaquePointer(), box.begin, box.end})
             .second)
      continue;
    std::optional<SmallVector<ElementBox>> sources;
    if (box.value.getDefiningOp())
      sources = seeThrough(box);
    if (sources)
      worklist.append(*sources);
    else
      found.push_back(std::move(box));
  }
  return found;
}

std::string pp::describeSource(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  // Names the op that the user wrote, not its gradient.
  if (StringRef(text).ends_with("_grad"))
    text.resize(text.size() - StringRef("_grad").size());
  std::string source = spellSource(op->getLoc());
  return source.empty() ? text : text + " at " + source;
}

LogicalResult
pp::markComputedIds(func::FuncOp entry,
                    llvm::function_ref<bool(Operation *, BlockArgument,
                                            const ElementBox &, IndexRange)>
                        checkInput) {
  WalkResult result = entry.walk([&](IterationSpaceOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<IndexRange> range =
          op.getIndexRange(operand.getOperandNumber());
      if (!range)
        continue;
      for (const ElementBox &box : findIndexSources(operand.get())) {
        bool isChecked;
        if (auto input = dyn_cast<BlockArgument>(box.value)) {
          isChecked = checkInput(op, input, box, *range);
        } else {
          FailureOr<std::optional<int64_t>> bad = findBadId(box, *range);
          isChecked = succeeded(bad);
          if (isChecked && *bad)
            return WalkResult(op->emitOpError("has the constant ")
                              << **bad << " as operand "
                              << operand.getOperandNumber()
                              << ", outside of its range of " << range->end
                              << " (0 to " << range->end - 1 << ")");
        }
        if (!isChecked)
          op->setAttr(kCheckIdsAttr, UnitAttr::get(op->getContext()));
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
