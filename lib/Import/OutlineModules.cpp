//===- OutlineModules.cpp - Repeated modules as functions -----------------===//
//
// Layers are modules of one class that do the same with other parameters:
//
//   ops of h.0, which use %w0      ->   %1 = call @gpt2_block(%0, %w0)
//   ops of h.1, which use %w1      ->   %2 = call @gpt2_block(%1, %w1)
//
// A run is a sequence of ops that stand in one module, with none of another
// between them: so a call takes its place in the same order. Runs are equal if
// their ops, attributes, types and uses of each other are. Outermost modules
// come first; within a run that became a call nothing else is outlined.
//
//===----------------------------------------------------------------------===//

#include "OutlineModules.h"

#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// A body of fewer ops, such as a linear layer's, is read more easily inline.
static constexpr int64_t fewestOps = 5;

//===----------------------------------------------------------------------===//
// Modules in locations
//===----------------------------------------------------------------------===//

/// The metadata is [name, class, name, class, …], outermost first.
Location pt2::withModules(Location loc, const Node &node) {
  Builder builder(loc.getContext());
  SmallVector<StringRef> names;
  for (const auto &[name, className] : node.modules)
    names.append({name, className});
  return FusedLoc::get(loc.getContext(), {loc}, builder.getStrArrayAttr(names));
}

static ArrayAttr modulesOf(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  return fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
}

static Location withoutModules(Location loc) {
  return modulesOf(loc) ? cast<FusedLoc>(loc).getLocations().front() : loc;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// Ops of one module, in order.
using Run = SmallVector<Operation *>;

/// How a run is connected with the rest of the entry.
struct Interface {
  SetVector<Value> inputs; ///< in the order of uses
  SmallVector<Value> outputs;
};

/// What equal runs have in common.
using Key = std::vector<const void *>;
} // namespace

/// The name and the class of the module at `depth`; null if there is none.
static std::pair<StringAttr, StringAttr> moduleAt(Operation *op, size_t depth) {
  ArrayAttr modules = modulesOf(op->getLoc());
  if (!modules || modules.size() < 2 * (depth + 1))
    return {};
  return {cast<StringAttr>(modules[2 * depth]),
          cast<StringAttr>(modules[2 * depth + 1])};
}

/// Cuts a run into those of the modules at `depth`.
static std::vector<Run> splitAt(const Run &run, size_t depth) {
  std::vector<Run> parts;
  StringAttr previous;
  for (Operation *op : run) {
    StringAttr name = moduleAt(op, depth).first;
    if (name && name != previous)
      parts.emplace_back();
    if (name)
      parts.back().push_back(op);
    previous = name;
  }
  return parts;
}

static Interface findInterface(const Run &run) {
  SmallPtrSet<Operation *, 32> inside(run.begin(), run.end());
  Interface interface;
  for (Operation *op : run) {
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        interface.inputs.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        interface.outputs.push_back(result);
  }
  return interface;
}

/// Values are numbered: inputs, then results. Numbers are stored as pointers.
static Key makeKey(const Run &run, StringAttr className) {
  Interface interface = findInterface(run);
  Key key = {className.getAsOpaquePointer()};
  DenseMap<Value, uintptr_t> numbers;
  auto addNumber = [&](uintptr_t number) {
    key.push_back(reinterpret_cast<const void *>(number));
  };
  auto define = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    key.push_back(value.getType().getAsOpaquePointer());
  };
  addNumber(interface.inputs.size());
  llvm::for_each(interface.inputs, define);
  for (Operation *op : run) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    addNumber(op->getNumOperands());
    for (Value operand : op->getOperands())
      addNumber(numbers.lookup(operand));
    addNumber(op->getNumResults());
    llvm::for_each(op->getResults(), define);
  }
  for (Value output : interface.outputs)
    addNumber(numbers.lookup(output));
  return key;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// "transformers.models.gpt2.modeling_gpt2.GPT2Block" as "gpt2_block".
static std::string spellFunction(StringRef className) {
  StringRef name = className.rsplit('.').second;
  if (name.empty())
    name = className;
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    bool followsLower = i > 0 && !llvm::isUpper(name[i - 1]);
    bool startsWord =
        i > 0 && i + 1 < name.size() && llvm::isLower(name[i + 1]);
    if (llvm::isUpper(name[i]) && (followsLower || startsWord) &&
        !StringRef(text).ends_with("_") && !text.empty())
      text += '_';
    text += llvm::isAlnum(name[i]) ? llvm::toLower(name[i]) : '_';
  }
  return text.empty() ? "module" : text;
}

static func::FuncOp makeFunction(func::FuncOp entry, const Run &run,
                                 StringRef className) {
  auto module = cast<ModuleOp>(entry->getParentOp());
  std::string base = spellFunction(className), name = base;
  for (int count = 2; module.lookupSymbol(name); ++count)
    name = base + "_" + std::to_string(count);
  Interface interface = findInterface(run);
  OpBuilder builder(entry);
  Location loc = withoutModules(run.front()->getLoc());
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(TypeRange(interface.inputs.getArrayRef()),
                              TypeRange(ArrayRef(interface.outputs))));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(interface.inputs.getArrayRef(), body->getArguments());
  for (Operation *op : run)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value output : interface.outputs)
    results.push_back(mapping.lookup(output));
  func::ReturnOp::create(builder, loc, results);
  return function;
}

static void replaceByCall(const Run &run, func::FuncOp function) {
  Interface interface = findInterface(run);
  OpBuilder builder(run.front());
  auto call = func::CallOp::create(builder, run.front()->getLoc(), function,
                                   ValueRange(interface.inputs.getArrayRef()));
  for (auto [output, result] :
       llvm::zip_equal(interface.outputs, call.getResults()))
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(run))
    op->erase();
}

static bool isLargeEnough(const Run &run) {
  return llvm::count_if(run, [](Operation *op) {
           return !isa<ConstantOp>(op);
         }) >= fewestOps;
}

void pt2::outlineModules(func::FuncOp entry) {
  std::vector<Run> runs(1);
  for (Operation &op : entry.getBody().front().without_terminator())
    if (!isa<ParamOp>(op))
      runs.front().push_back(&op);
  // Of shallower modules too: a layer may stand in another module once more.
  std::map<Key, func::FuncOp> functions;
  for (size_t depth = 0; !runs.empty(); ++depth) {
    std::vector<Run> parts;
    for (const Run &run : runs)
      llvm::append_range(parts, splitAt(run, depth));
    std::vector<Key> keys;
    std::map<Key, int64_t> counts;
    for (const Run &part : parts) {
      keys.push_back(makeKey(part, moduleAt(part.front(), depth).second));
      ++counts[keys.back()];
    }
    runs.clear();
    for (auto [part, key] : llvm::zip_equal(parts, keys)) {
      func::FuncOp &function = functions[key];
      if (!function && counts[key] >= 2 && isLargeEnough(part))
        function = makeFunction(
            entry, part, moduleAt(part.front(), depth).second.getValue());
      if (function)
        replaceByCall(part, function);
      else
        runs.push_back(part);
    }
  }
  entry->getParentOp()->walk(
      [](Operation *op) { op->setLoc(withoutModules(op->getLoc())); });
}
