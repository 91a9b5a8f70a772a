//===- FixedBatch.cpp - What keeps the batch of an export -----------------===//

#include "ppopt/Driver/FixedBatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;

/// Inlines calls and gives the entry so many rows; 0 keeps its own.
static OwningOpRef<ModuleOp> makeInlined(ModuleOp model, int64_t rows) {
  OwningOpRef<ModuleOp> copy = model.clone();
  PassManager manager(model.getContext());
  manager.addPass(createInlineCalls());
  if (rows != 0)
    manager.addPass(createResizeBatch({/*batch=*/rows}));
  if (failed(manager.run(*copy)))
    return nullptr;
  return copy;
}

namespace {

/// Numbers values of several modules: two have one number if the same ops
/// compute them of the same arguments. How a parameter begins is not compared.
class Numbering {
public:
  /// Numbers the op's results; returns the number of the first.
  unsigned add(Operation *op) {
    std::vector<const void *> key = {op->getName().getAsOpaquePointer()};
    if (auto param = dyn_cast<ParamOp>(op))
      key.push_back(param.getParamNameAttr().getAsOpaquePointer());
    else
      key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    if (op->getNumRegions() != 0)
      key.push_back(op); // import makes none, and it is like no other
    for (Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    for (Value operand : op->getOperands())
      key.push_back(reinterpret_cast<const void *>(numbers.lookup(operand)));
    unsigned first = numberOf(key, op->getNumResults());
    for (OpResult result : op->getResults())
      numbers[result] = first + result.getResultNumber();
    return first;
  }
  void add(BlockArgument argument) {
    numbers[argument] = numberOf(
        {reinterpret_cast<const void *>(uintptr_t{argument.getArgNumber()}),
         argument.getType().getAsOpaquePointer()},
        1);
  }

private:
  unsigned numberOf(const std::vector<const void *> &key, unsigned results) {
    auto [known, isNew] = keys.try_emplace(key, next);
    if (isNew)
      next += std::max(results, 1u);
    return known->second;
  }

  std::map<std::vector<const void *>, unsigned> keys;
  DenseMap<Value, uintptr_t> numbers;
  unsigned next = 1;
};

} // namespace

/// The entry's body without ops whose results nothing reads.
static Block *getLiveBody(ModuleOp module) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry) || !llvm::hasSingleElement(entry->getBody()))
    return nullptr;
  Block &body = entry->getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return &body;
}

static std::string spell(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "an op";
  return llvm::json::fixUTF8(file.getFilename().getValue()) + ":" +
         std::to_string(file.getLine());
}

/// Returns where the first op is that differs; empty if there is none.
static std::string findDifference(ModuleOp model, ModuleOp other) {
  FailureOr<func::FuncOp> entry = findEntry(other);
  if (failed(entry) || entry->getNumArguments() == 0)
    return "";
  auto first = cast<RankedTensorType>(entry->getArgument(0).getType());
  OwningOpRef<ModuleOp> resized = makeInlined(model, first.getDimSize(0)),
                        expected = makeInlined(other, 0);
  Block *ours = resized ? getLiveBody(*resized) : nullptr,
        *theirs = expected ? getLiveBody(*expected) : nullptr;
  if (!ours || !theirs)
    return "";
  Numbering numbering;
  DenseSet<unsigned> known;
  for (BlockArgument argument : theirs->getArguments())
    numbering.add(argument);
  for (Operation &op : *theirs)
    known.insert(numbering.add(&op));
  for (BlockArgument argument : ours->getArguments())
    numbering.add(argument);
  for (Operation &op : *ours)
    if (!known.contains(numbering.add(&op)))
      return spell(op.getLoc());
  return "";
}

std::string pp::markFixedBatch(ModuleOp model, ModuleOp other) {
  ScopedDiagnosticHandler silence(model.getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<func::FuncOp> entry = findEntry(model);
  std::string where =
      other ? findDifference(model, other) : "a size that is not known";
  if (succeeded(entry) && !where.empty())
    (*entry)->setAttr(kFixedBatchAttr,
                      StringAttr::get(model.getContext(), where));
  return where;
}
