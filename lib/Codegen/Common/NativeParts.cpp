//===- NativeParts.cpp - Divides a native module into parts ---------------===//

#include "NativeParts.h"

#include "ppopt/Analysis/Thresholds.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Functions that must stay together.
struct Unit {
  SmallVector<LLVM::LLVMFuncOp> functions;
  size_t position = 0, ops = 0;
};

} // namespace

/// Returns the symbols that ops of a region refer to, each once.
static SetVector<StringAttr> getReferences(Region &region) {
  SetVector<StringAttr> names;
  if (auto uses = SymbolTable::getSymbolUses(&region))
    for (const SymbolTable::SymbolUse &use : *uses)
      names.insert(use.getSymbolRef().getRootReference());
  return names;
}

/// A private function goes with the functions that refer to it.
static SmallVector<Unit>
findUnits(ArrayRef<LLVM::LLVMFuncOp> functions,
          const DenseMap<StringAttr, Operation *> &symbols) {
  llvm::EquivalenceClasses<Operation *> together;
  for (LLVM::LLVMFuncOp function : functions) {
    together.insert(function);
    for (StringAttr name : getReferences(function.getBody())) {
      auto other = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbols.lookup(name));
      if (other && other.getLinkage() == LLVM::Linkage::Internal)
        together.unionSets(function, other);
    }
  }
  llvm::MapVector<Operation *, Unit> units;
  for (auto [i, each] : llvm::enumerate(functions)) {
    LLVM::LLVMFuncOp function = each;
    Unit &unit = units[together.getLeaderValue(function)];
    if (unit.functions.empty())
      unit.position = i;
    unit.functions.push_back(function);
    function.walk([&](Operation *) { ++unit.ops; });
  }
  return llvm::map_to_vector(
      units, [](auto &entry) { return std::move(entry.second); });
}

/// Returns how many parts units are divided into: enough to occupy today's
/// CPUs, and none so small that its own optimiser costs more than it does.
static size_t countParts(ArrayRef<Unit> units, ModuleOp module) {
  size_t ops = 0;
  for (const Unit &unit : units)
    ops += unit.ops;
  size_t most = getThreshold(module, Threshold::NativeParts);
  size_t worth = ops / getThreshold(module, Threshold::PartOps);
  return std::min({most, std::max<size_t>(worth, 1), units.size()});
}

/// Assigns large units first, each to the smallest part.
static SmallVector<SmallVector<LLVM::LLVMFuncOp>>
balance(SmallVector<Unit> units, size_t count) {
  llvm::sort(units, [](const Unit &a, const Unit &b) {
    return std::make_pair(b.ops, a.position) <
           std::make_pair(a.ops, b.position);
  });
  SmallVector<SmallVector<LLVM::LLVMFuncOp>> parts(count);
  SmallVector<size_t> ops(parts.size());
  for (const Unit &unit : units) {
    size_t least = llvm::min_element(ops) - ops.begin();
    parts[least].append(unit.functions);
    ops[least] += unit.ops;
  }
  return parts;
}

/// Declares symbols that the part refers to and does not define. Constants of
/// kernels, which one part defines, become visible to all parts of the
/// executable, but not outside it.
static void declareReferences(ModuleOp part,
                              const DenseMap<StringAttr, Operation *> &symbols,
                              const DenseSet<StringAttr> &held) {
  OpBuilder builder = OpBuilder::atBlockBegin(part.getBody());
  for (StringAttr name : getReferences(part.getBodyRegion())) {
    Operation *symbol = symbols.lookup(name);
    if (!symbol || held.contains(name))
      continue;
    if (auto global = dyn_cast<LLVM::GlobalOp>(symbol)) {
      global.setLinkage(LLVM::Linkage::External);
      global.setVisibility_(LLVM::Visibility::Hidden);
    }
    Operation *declaration = builder.cloneWithoutRegions(*symbol);
    if (auto global = dyn_cast<LLVM::GlobalOp>(declaration))
      global.removeValueAttr();
    else
      cast<LLVM::LLVMFuncOp>(declaration).setLinkage(LLVM::Linkage::External);
  }
}

SmallVector<NativePart> pp::divideIntoParts(ModuleOp module) {
  bool optimizes = getThreshold(module, Threshold::NativeParts) > 0;
  DenseMap<StringAttr, Operation *> symbols;
  SmallVector<LLVM::LLVMFuncOp> optimized;
  SmallVector<Operation *> others;
  for (Operation &op : *module.getBody()) {
    if (auto name = SymbolTable::getSymbolName(&op))
      symbols[name] = &op;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!function)
      others.push_back(&op);
    else if (!function.isDeclaration())
      optimizes && !function.getOptimizeNone() ? optimized.push_back(function)
                                               : others.push_back(&op);
  }

  SmallVector<SmallVector<Operation *>> contents = {others};
  SmallVector<Unit> units = findUnits(optimized, symbols);
  size_t count = countParts(units, module);
  for (ArrayRef<LLVM::LLVMFuncOp> part : balance(std::move(units), count))
    contents.push_back(llvm::to_vector_of<Operation *>(part));
  SmallVector<NativePart> parts;
  for (ArrayRef<Operation *> ops : contents) {
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    DenseSet<StringAttr> held;
    for (Operation *op : ops) {
      op->moveBefore(part->getBody(), part->getBody()->end());
      if (auto name = SymbolTable::getSymbolName(op))
        held.insert(name);
    }
    if (contents.size() > 1)
      declareReferences(*part, symbols, held);
    size_t work = 0;
    part->walk([&](Operation *) { ++work; });
    // An op that is optimised takes some ten times as long as one that is not.
    bool isUnoptimized = parts.empty();
    parts.push_back(
        {std::move(part), isUnoptimized, isUnoptimized ? work / 10 : work});
  }
  return parts;
}
