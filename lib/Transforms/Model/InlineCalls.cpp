//===- InlineCalls.cpp - Inlines the functions that the entry calls -------===//
//
// Before: functions of a module call each other. After: one function without
// calls. The locations of its ops keep the chain of calls, an op that draws
// random numbers knows its call path, and the results of each call are
// checkpoints. The ops of a pp.per_microbatch are marked, and what leaves it is
// a pp.leave_microbatch. Composites that propose values of states are replaced.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/InMicrobatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "mlir/IR/IRMapping.h"
#include <deque>

namespace mlir::pp {
#define GEN_PASS_DEF_INLINECALLS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

constexpr llvm::StringLiteral kStream = "stream";

/// 64-bit FNV-1a of a path and what follows it, as in docs/random-numbers.md.
uint64_t extendPath(uint64_t hash, StringRef text) {
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}
constexpr uint64_t kEmptyPath = 0xcbf29ce484222325;

/// Clones the bodies of called functions into the entry. Calls may be nested
/// deeper than the stack is.
class Inliner {
public:
  Inliner(SymbolTable &symbols, OpBuilder &builder)
      : symbols(symbols), builder(builder) {}

  /// Clones the ops of the entry at the builder's insertion point; its
  /// arguments are mapped already. Sets `results` to what it returns.
  LogicalResult cloneEntry(func::FuncOp entry, IRMapping mapping,
                           SmallVectorImpl<Value> &results) {
    enter(entry, std::move(mapping), std::nullopt,
          extendPath(kEmptyPath, entry.getSymName()), {});
    while (!blocks.empty()) {
      if (blocks.back().rest.empty()) {
        SmallVector<Value> returned;
        for (Value value : blocks.back().terminator->getOperands())
          returned.push_back(getCall().mapping.lookup(value));
        if (blocks.size() == 1)
          results.assign(returned);
        leave(returned);
        continue;
      }
      Operation &op = *blocks.back().rest.begin();
      blocks.back().rest = llvm::drop_begin(blocks.back().rest);
      if (failed(clone(op)))
        return failure();
    }
    return success();
  }

private:
  /// A function whose body is being cloned.
  struct Call {
    func::FuncOp function;
    IRMapping mapping;
    std::optional<Location> caller; ///< none in the entry
    uint64_t path;                  ///< hash of the calls
    func::CallOp op;
    unsigned ordinal = 0; ///< of the next call or draw
  };

  /// A block of the last function of `calls`: its body, or that of a mark in
  /// it, which does not change the random numbers.
  struct OpenBlock {
    llvm::iterator_range<Block::iterator> rest;
    Operation *terminator;
    Operation *mark = nullptr; ///< null for the function's body
    OnOp clone;                ///< null if the mark's ops are inlined
  };

  Call &getCall() { return calls.back(); }

  Location getLoc(Operation &op) {
    std::optional<Location> caller = getCall().caller;
    return caller ? Location(CallSiteLoc::get(op.getLoc(), *caller))
                  : op.getLoc();
  }

  void open(Block &block, Operation *mark, OnOp clone) {
    blocks.push_back(
        {block.without_terminator(), block.getTerminator(), mark, clone});
  }

  void enter(func::FuncOp function, IRMapping mapping,
             std::optional<Location> caller, uint64_t path, func::CallOp op) {
    active.insert(function);
    calls.push_back({function, std::move(mapping), caller, path, op});
    open(function.getBody().front(), {}, {});
  }

  /// Closes the last block, whose terminator has the operands `values` now.
  void leave(ArrayRef<Value> values) {
    OpenBlock block = blocks.back();
    blocks.pop_back();
    if (block.clone) {
      tag(YieldOp::create(builder, block.clone.getLoc(), values));
      builder.setInsertionPointAfter(block.clone);
      getCall().mapping.map(block.mark->getResults(), block.clone.getResults());
      return;
    }
    if (block.mark) {
      isInMicrobatch = false;
      Location loc = NameLoc::get(block.mark->getName().getIdentifier(),
                                  getLoc(*block.mark));
      for (auto [result, value] : llvm::zip(block.mark->getResults(), values))
        getCall().mapping.map(result, LeaveMicrobatchOp::create(
                                          builder, loc, value.getType(), value,
                                          /*dim=*/IntegerAttr(),
                                          builder.getI64IntegerAttr(1)));
      return;
    }
    func::CallOp op = getCall().op;
    active.erase(getCall().function);
    calls.pop_back();
    if (!op)
      return;
    for (auto [result, value] : llvm::zip(op.getResults(), values))
      getCall().mapping.map(result, mark(value, getLoc(*op)));
  }

  /// Marks an op as one of a pp.per_microbatch, if it is.
  void tag(Operation *op) {
    if (isInMicrobatch && !isa<ParamOp>(op))
      op->setAttr(kInMicrobatchAttr, builder.getUnitAttr());
  }

  LogicalResult clone(Operation &op) {
    Location loc = getLoc(op);
    if (++opCount > kMostOps)
      return emitError(loc)
             << "with its calls inlined the model has more than " << kMostOps
             << " ops; see which functions call others more often than they "
                "need to";
    if (isa<RepeatOp>(op))
      return op.emitOpError("is to be written out before calls are inlined; "
                            "run pp-unroll-repeats first");
    if (auto on = dyn_cast<OnOp>(op)) {
      auto clone =
          OnOp::create(builder, loc, on.getResultTypes(), on.getPlace());
      tag(clone);
      builder.createBlock(&clone.getBody());
      open(on.getBody().front(), on, clone);
      return success();
    }
    if (auto rows = dyn_cast<PerMicrobatchOp>(op)) {
      if (isInMicrobatch)
        return emitError(loc, "'pp.per_microbatch' op is in another one; ")
               << "remove one of them: all of its ops compute with the rows of "
                  "one microbatch";
      isInMicrobatch = true;
      open(rows.getBody().front(), rows, {});
      return success();
    }
    if (auto call = dyn_cast<func::CallOp>(op))
      return cloneCall(call, loc);
    Operation *clone = builder.clone(op, getCall().mapping);
    clone->setLoc(loc);
    tag(clone);
    if (auto composite = dyn_cast<DecomposableOpInterface>(clone);
        composite && !isMemoryEffectFree(clone)) {
      FailureOr<SmallVector<Value>> values = decompose(composite);
      if (failed(values))
        return failure();
      getCall().mapping.map(op.getResults(), ValueRange(*values));
      return success();
    }
    auto space = dyn_cast<IterationSpaceOpInterface>(op);
    if (space && space.drawsNumbers() && !op.getAttr(kStream)) {
      std::string draw = "/#" + std::to_string(getCall().ordinal++);
      clone->setAttr(kStream, builder.getI64IntegerAttr(static_cast<int64_t>(
                                  extendPath(getCall().path, draw))));
    }
    return success();
  }

  LogicalResult cloneCall(func::CallOp call, Location loc) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return call.emitOpError("calls @")
             << call.getCallee() << ", which has no body in this file";
    if (active.contains(callee))
      return call.emitOpError("calls @")
             << call.getCallee()
             << " from within itself; a model's functions can't be recursive";
    IRMapping inner;
    for (auto [argument, operand] :
         llvm::zip(callee.getArguments(), call.getOperands()))
      inner.map(argument, getCall().mapping.lookup(operand));
    std::string name = "/" + call.getCallee().str() + "#" +
                       std::to_string(getCall().ordinal++);
    enter(callee, std::move(inner), loc, extendPath(getCall().path, name),
          call);
    return success();
  }

  /// Marks a result of a layer as worth keeping, except integers, which need no
  /// gradient.
  Value mark(Value value, Location loc) {
    if (!isa<FloatType>(getElementTypeOrSelf(value)) ||
        isa_and_nonnull<CheckpointOp>(value.getDefiningOp()))
      return value;
    auto op = CheckpointOp::create(builder, loc, value);
    tag(op);
    return op;
  }

  SymbolTable &symbols;
  OpBuilder &builder;
  std::deque<Call> calls;
  std::vector<OpenBlock> blocks;
  DenseSet<Operation *> active; ///< the functions of `calls`
  int64_t opCount = 0;
  bool isInMicrobatch = false; ///< in a pp.per_microbatch
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
                   .cloneEntry(*entry, std::move(mapping), results))) {
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
