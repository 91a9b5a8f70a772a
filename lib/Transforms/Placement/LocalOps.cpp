//===- LocalOps.cpp - What a rank computes of an entry --------------------===//

#include "LocalOps.h"

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Transforms/Sharding/ShardEntry.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
using namespace ppopt;

/// Gives the copy of each op of an order a location with its number, and all
/// else one without.
static void numberLocations(func::FuncOp copy, const IRMapping &copies,
                            const OpOrder &order) {
  MLIRContext *context = copy.getContext();
  auto unknown = UnknownLoc::get(context);
  for (BlockArgument argument : copy.getArguments())
    argument.setLoc(unknown);
  copy.walk([&](Operation *op) { op->setLoc(unknown); });
  for (auto [i, op] : llvm::enumerate(order.ops))
    copies.lookup(op)->setLoc(FileLineColLoc::get(context, "", i, 0));
}

static std::optional<size_t> readNumber(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc)) // part of a composite
    loc = named.getChildLoc();
  if (auto numbered = dyn_cast<FileLineColLoc>(loc))
    return numbered.getLine();
  return std::nullopt;
}

/// Returns a copy of the entry in a module of its own, as a rank computes it;
/// null if the plan can't cut it.
static OwningOpRef<ModuleOp> localize(func::FuncOp entry, PlanOp plan,
                                      const OpOrder &order) {
  ScopedDiagnosticHandler silent(entry.getContext(),
                                 [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> made = ModuleOp::create(entry.getLoc());
  IRMapping copies;
  auto copy = cast<func::FuncOp>(entry->clone(copies));
  made->push_back(copy);
  numberLocations(copy, copies, order);
  if (failed(shardEntry(copy, plan)))
    return {};
  // Of what is computed again for some rows alone, nobody may read the whole.
  // (A reversed iterator of without_terminator() would stand on what is
  // erased.)
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(copy.getBody().front())))
    if (op.use_empty() && !isa<ParamOp, func::ReturnOp>(op))
      op.erase();
  return made;
}

LocalOps::LocalOps(func::FuncOp entry, PlanOp plan, const OpOrder &order)
    : entry(entry), ops(order.ops.size()) {
  if (!ShardingAxes::of(plan).empty()) {
    localized = localize(entry, plan, order);
    if (!localized)
      share = 1 / static_cast<double>(plan.getBatchTiles());
  }
  if (localized) {
    this->entry = *localized->getOps<func::FuncOp>().begin();
    for (Operation &op : this->entry.getBody().front())
      if (std::optional<size_t> number = readNumber(op.getLoc()))
        numbers[&op] = *number;
  } else {
    for (auto [i, op] : llvm::enumerate(order.ops))
      numbers[op] = i;
  }
  for (Operation &op : this->entry.getBody().front())
    if (auto found = numbers.find(&op); found != numbers.end())
      ops[found->second].push_back(&op);
}

std::optional<size_t> LocalOps::getNumber(Operation *op) const {
  auto found = numbers.find(op);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}
