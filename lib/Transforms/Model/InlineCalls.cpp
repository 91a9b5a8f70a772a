//===- InlineCalls.cpp - Inlines the functions that the entry calls -------===//
//
// Before: functions of a module call each other. After: one function without
// calls. The locations of its ops keep the chain of calls, an op that draws
// random numbers knows its call path, and the results of each call are
// checkpoints.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::pp {
#define GEN_PASS_DEF_INLINECALLS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

constexpr llvm::StringLiteral kStream = "stream";

/// The limit on ops after inlining: functions that call each other twice double
/// the model at each level. GPT-2 124M has 435 ops.
constexpr int64_t kMostOps = 100000;

/// 64-bit FNV-1a, as in docs/random-numbers.md.
uint64_t hashPath(StringRef path) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : path)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// Clones the bodies of called functions into the entry.
class Inliner {
public:
  Inliner(SymbolTable &symbols, OpBuilder &builder)
      : symbols(symbols), builder(builder) {}

  /// Clones the ops of `function` at the builder's insertion point; its
  /// arguments are mapped already. Sets `results` to the function's results.
  LogicalResult cloneBody(func::FuncOp function, IRMapping &mapping,
                          std::optional<Location> caller, const Twine &path,
                          SmallVectorImpl<Value> &results) {
    unsigned ordinal = 0;
    return cloneBlock(function.getBody().front(), mapping, caller, path.str(),
                      ordinal, results);
  }

private:
  /// Clones a block of a function, or of a mark in it: a mark doesn't change
  /// the random numbers. `ordinal` is that of the function's next call or draw.
  LogicalResult cloneBlock(Block &block, IRMapping &mapping,
                           std::optional<Location> caller,
                           const std::string &pathText, unsigned &ordinal,
                           SmallVectorImpl<Value> &results) {
    for (Operation &op : block.without_terminator()) {
      Location loc = caller ? Location(CallSiteLoc::get(op.getLoc(), *caller))
                            : op.getLoc();
      if (++opCount > kMostOps)
        return emitError(loc)
               << "with its calls inlined the model has more than " << kMostOps
               << " ops; see which functions call others more often than they "
                  "need to";
      if (auto on = dyn_cast<OnOp>(op)) {
        if (failed(cloneMark(on, mapping, loc, caller, pathText, ordinal)))
          return failure();
        continue;
      }
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (failed(cloneCall(call, mapping, loc,
                             pathText + "/" + call.getCallee() + "#" +
                                 Twine(ordinal++))))
          return failure();
        continue;
      }
      Operation *clone = builder.clone(op, mapping);
      clone->setLoc(loc);
      if (llvm::is_contained(op.getName().getAttributeNames(), kStream) &&
          !op.getAttr(kStream))
        clone->setAttr(kStream,
                       builder.getI64IntegerAttr(static_cast<int64_t>(hashPath(
                           pathText + "/#" + std::to_string(ordinal++)))));
    }
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(mapping.lookup(value));
    return success();
  }

  LogicalResult cloneMark(OnOp on, IRMapping &mapping, Location loc,
                          std::optional<Location> caller,
                          const std::string &pathText, unsigned &ordinal) {
    auto clone = OnOp::create(builder, loc, on.getResultTypes(), on.getPlace());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&clone.getBody());
    SmallVector<Value> yielded;
    if (failed(cloneBlock(on.getBody().front(), mapping, caller, pathText,
                          ordinal, yielded)))
      return failure();
    YieldOp::create(builder, loc, yielded);
    mapping.map(on.getResults(), clone.getResults());
    return success();
  }

  LogicalResult cloneCall(func::CallOp call, IRMapping &mapping, Location loc,
                          const Twine &path) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return call.emitOpError("calls @")
             << call.getCallee() << ", which has no body in this file";
    if (llvm::is_contained(stack, callee))
      return call.emitOpError("calls @")
             << call.getCallee()
             << " from within itself; a model's functions can't be recursive";
    stack.push_back(callee);
    IRMapping inner;
    for (auto [argument, operand] :
         llvm::zip(callee.getArguments(), call.getOperands()))
      inner.map(argument, mapping.lookup(operand));
    SmallVector<Value> results;
    if (failed(cloneBody(callee, inner, loc, path, results)))
      return failure();
    stack.pop_back();
    for (auto [result, value] : llvm::zip(call.getResults(), results))
      mapping.map(result, mark(value, loc));
    return success();
  }

  /// Marks a result of a layer as worth keeping, except integers, which need no
  /// gradient.
  Value mark(Value value, Location loc) {
    if (!isa<FloatType>(getElementTypeOrSelf(value)) ||
        isa_and_nonnull<CheckpointOp>(value.getDefiningOp()))
      return value;
    return CheckpointOp::create(builder, loc, value);
  }

  SymbolTable &symbols;
  OpBuilder &builder;
  SmallVector<func::FuncOp> stack;
  int64_t opCount = 0;
};

struct InlineCalls : pp::impl::InlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    OpBuilder builder(&getContext());
    auto inlined =
        cast<func::FuncOp>(entry->getOperation()->cloneWithoutRegions());
    Block *body = inlined.addEntryBlock();
    IRMapping mapping;
    mapping.map(entry->getArguments(), body->getArguments());
    for (auto [from, to] :
         llvm::zip(entry->getArguments(), body->getArguments()))
      to.setLoc(from.getLoc());
    builder.setInsertionPointToEnd(body);
    SmallVector<Value> results;
    if (failed(Inliner(symbols, builder)
                   .cloneBody(*entry, mapping, std::nullopt,
                              entry->getSymName(), results))) {
      inlined.erase();
      return signalPassFailure();
    }
    func::ReturnOp::create(builder, body->getParentOp()->getLoc(), results);
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      function.erase();
    getOperation().getBody()->push_back(inlined);
  }
};

} // namespace
