//===- VerifyModel.cpp - Checks that the module is a model ----------------===//
//
// The contract of phase `model`, on which all later passes rely. Changes
// nothing.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ModelTypes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYMODEL
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns the function named by the option, or the only one that no other
/// calls.
static FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  if (name.empty())
    return pp::findEntry(module);
  if (auto entry = module.lookupSymbol<func::FuncOp>(name))
    return entry;
  return module.emitError("no function is named '")
         << name << "', which --entry asks for";
}

//===----------------------------------------------------------------------===//
// Functions and ops
//===----------------------------------------------------------------------===//

/// Checks that the arguments of a function that is called are no inputs.
static LogicalResult verifyIsNoEntry(func::FuncOp callee) {
  for (unsigned i = 0; i < callee.getNumArguments(); ++i)
    for (StringRef name : {kInputAttr, kShiftAttr, kShardAttr})
      if (callee.getArgAttr(i, name))
        return emitError(callee.getArgument(i).getLoc())
               << "argument " << i << " of @" << callee.getSymName() << " has "
               << name
               << ", which is for inputs: arguments of the entry, which no "
                  "function calls";
  return success();
}

/// Checks that calls name functions with a body and form no cycle. Calls may be
/// nested deeper than the stack is.
static LogicalResult verifyCalls(ModuleOp module, SymbolTable &symbols) {
  enum class State { New, OnPath, Done };
  DenseMap<Operation *, State> states;
  struct Visit {
    func::FuncOp function;
    SmallVector<func::CallOp> calls; ///< not followed yet, the last one first
  };
  std::vector<Visit> path;
  auto enter = [&](func::FuncOp function) {
    states[function] = State::OnPath;
    path.push_back({function, {}});
    function.walk(
        [&](func::CallOp call) { path.back().calls.push_back(call); });
    std::reverse(path.back().calls.begin(), path.back().calls.end());
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isExternal() && states.lookup(function) == State::New)
      enter(function);
    while (!path.empty()) {
      if (path.back().calls.empty()) {
        states[path.back().function] = State::Done;
        path.pop_back();
        continue;
      }
      func::CallOp call = path.back().calls.pop_back_val();
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return call.emitError("calls @")
               << call.getCallee() << ", which has no body in this file";
      if (states.lookup(callee) == State::OnPath) {
        InFlightDiagnostic diag = call.emitError("calls @")
                                  << call.getCallee()
                                  << " from within itself; a model is finite: "
                                     "write its layers one after the other";
        diag.attachNote(callee.getLoc())
            << "@" << call.getCallee() << " is here";
        return diag;
      }
      if (failed(verifyIsNoEntry(callee)))
        return failure();
      if (states.lookup(callee) == State::New)
        enter(callee);
    }
  }
  return success();
}

static LogicalResult verifyTypes(Location loc, TypeRange types) {
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return emitError(loc) << "value of type " << type
                            << "; a model computes with tensors of static "
                               "shape";
    if (!isModelTensor(tensor) || tensor.getEncoding())
      return emitError(loc) << "value of type " << type
                            << "; elements are f32, f64, bf16, i32, i64 or i1, "
                               "and a tensor has no encoding";
    if (llvm::is_contained(tensor.getShape(), 0))
      return emitError(loc) << "value of type " << type
                            << " has no elements; every size is at least 1";
    if (hasTooManyElements(tensor.getShape()))
      return emitError(loc) << "value of type " << type << " has more than "
                            << kMostElements << " elements";
  }
  return success();
}

/// Checks a block of a function, or of a mark in it.
static LogicalResult verifyBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<RepeatOp>(op))
      return op.emitOpError("is to be written out before a model is checked; "
                            "run pp-unroll-repeats first");
    if (!isa<func::ReturnOp, func::CallOp, OnOp, PerMicrobatchOp, YieldOp,
             ProposeOp>(op) &&
        (!isa<IterationSpaceOpInterface>(op) ||
         isa<EnterMicrobatchOp, LeaveMicrobatchOp>(op)))
      return op.emitError("'")
             << op.getName()
             << "' is not an op of a model; models consist of pp's model ops, "
                "pp.on, pp.per_microbatch, func.call and func.return";
    if (failed(verifyModelAttributes(
            {AttributeHolder::Operation, &op},
            op.getDiscardableAttrDictionary().getValue())) ||
        failed(verifyTypes(op.getLoc(), op.getResultTypes())))
      return failure();
    if (isa<OnOp, PerMicrobatchOp>(op))
      if (failed(verifyBlock(op.getRegion(0).front())))
        return failure();
  }
  return success();
}

/// Checks the attributes of a function, of its arguments and of its results.
static LogicalResult verifyAttributes(func::FuncOp function) {
  if (failed(verifyModelAttributes(
          {AttributeHolder::Operation, function},
          function->getDiscardableAttrDictionary().getValue())))
    return failure();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(verifyModelAttributes(
            {AttributeHolder::Argument, function, i},
            function_interface_impl::getArgAttrs(function, i))))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(verifyModelAttributes(
            {AttributeHolder::Result, function, i},
            function_interface_impl::getResultAttrs(function, i))))
      return failure();
  return success();
}

static LogicalResult verifyOps(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("function @")
           << function.getSymName()
           << " has more than one block; a model has no control flow";
  for (BlockArgument argument : function.getArguments())
    if (failed(verifyTypes(argument.getLoc(), argument.getType())))
      return failure();
  return verifyBlock(function.getBody().front());
}

//===----------------------------------------------------------------------===//
// Parameters, inputs and the loss
//===----------------------------------------------------------------------===//

/// Checks that a state has nothing of what updates do.
static LogicalResult verifyState(ParamOp param) {
  if (!param.getState())
    return success();
  for (auto [has, name] :
       {std::pair(param.getFrozen(), param.getFrozenAttrName()),
        std::pair(param.getNoDecay(), param.getNoDecayAttrName()),
        std::pair(param.getLrScaleAttr() != nullptr,
                  param.getLrScaleAttrName()),
        std::pair(param.getDecayScaleAttr() != nullptr,
                  param.getDecayScaleAttrName())})
    if (has)
      return param.emitOpError("is a state, which no gradient reaches, and has "
                               "'")
             << name.getValue() << "'; leave that out";
  return success();
}

/// Parameter files and the program's document use names as keys.
static LogicalResult verifyName(Location loc, StringRef what, StringRef name) {
  if (name.empty())
    return emitError(loc) << "the name of this " << what
                          << " is empty; give it one";
  if (name == "__metadata__")
    return emitError(loc) << "no " << what
                          << " can be named __metadata__: in safetensors files "
                             "that is not a tensor; rename it";
  if (llvm::json::isUTF8(name))
    return success();
  return emitError(loc) << "the name of this " << what << ", '"
                        << llvm::json::fixUTF8(name)
                        << "', is not UTF-8; rename it";
}

static LogicalResult verifyParams(ModuleOp module, func::FuncOp entry) {
  llvm::StringMap<ParamOp> names;
  WalkResult result = module.walk([&](ParamOp param) {
    if (param->getParentOfType<func::FuncOp>() != entry) {
      param.emitError("parameter '")
          << param.getParamName() << "' is outside of the entry @"
          << entry.getSymName()
          << "; declare it there and pass it as an argument";
      return WalkResult::interrupt();
    }
    if (param.getPlace()) {
      param.emitOpError("has a place, which the compiler decides; mark the "
                        "parameter with pp.on");
      return WalkResult::interrupt();
    }
    if (failed(verifyState(param)))
      return WalkResult::interrupt();
    SmallVector<StringRef> ofParam{param.getParamName()};
    if (auto aliases = param->getAttrOfType<ArrayAttr>(kAliasesAttr))
      llvm::append_range(ofParam, aliases.getAsValueRange<StringAttr>());
    for (StringRef name : ofParam) {
      if (failed(verifyName(param.getLoc(), "parameter", name)))
        return WalkResult::interrupt();
      auto [known, isNew] = names.try_emplace(name, param);
      if (isNew)
        continue;
      InFlightDiagnostic diag =
          param.emitError("a second parameter is named '")
          << name
          << "'; rename one, or use the value of the first twice to share it";
      diag.attachNote(known->second.getLoc()) << "the first is here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (auto buffers = module->getAttrOfType<DictionaryAttr>(kBuffersAttr))
    for (NamedAttribute buffer : buffers) {
      StringRef name = buffer.getName();
      if (failed(verifyName(module.getLoc(), "buffer", name)))
        return failure();
      if (ParamOp param = names.lookup(name))
        return param.emitError("a buffer and this parameter are named '")
               << name << "'; rename one";
    }
  return success();
}

static LogicalResult verifyShift(BlockArgument input, StringAttr name,
                                 IntegerAttr shift) {
  if (!shift)
    return success();
  if (shift.getInt() < 0 || shift.getInt() > kMostElements)
    return emitError(input.getLoc())
           << "input " << name << " has " << kShiftAttr << " = " << shift
           << ", which must be a number of tokens from 0 to " << kMostElements;
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getRank() != 2 || !type.getElementType().isInteger() ||
      type.getElementType().isInteger(1))
    return emitError(input.getLoc())
           << "input " << name << " has " << kShiftAttr << ", and " << type
           << " holds no tokens: i32 or i64, [batch, positions]";
  return success();
}

static LogicalResult verifyInputs(func::FuncOp entry) {
  if (entry.getNumArguments() == 0)
    return entry.emitError("entry @")
           << entry.getSymName()
           << " has no inputs: add an argument with {pp.input = \"name\"}";
  llvm::StringMap<BlockArgument> names;
  for (BlockArgument argument : entry.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name = entry.getArgAttrOfType<StringAttr>(i, kInputAttr);
    if (!name || name.empty())
      return emitError(argument.getLoc())
             << "argument " << i << " of entry @" << entry.getSymName()
             << " has no name: add {pp.input = \"name\"}";
    if (failed(verifyName(argument.getLoc(), "input", name)))
      return failure();
    auto [known, isNew] = names.try_emplace(name, argument);
    if (!isNew) {
      InFlightDiagnostic diag = emitError(argument.getLoc())
                                << "a second input is named " << name
                                << "; rename one";
      diag.attachNote(known->second.getLoc()) << "the first is here";
      return diag;
    }
    if (failed(verifyShift(argument, name,
                           entry.getArgAttrOfType<IntegerAttr>(i, kShiftAttr))))
      return failure();
  }
  return success();
}

static LogicalResult verifyBatch(func::FuncOp entry) {
  BlockArgument first = entry.getArgument(0);
  auto firstType = cast<RankedTensorType>(first.getType());
  for (BlockArgument argument : entry.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (type.getRank() == 0)
      return emitError(argument.getLoc())
             << "input of " << type
             << " has no batch: the first dimension of every input is the "
                "batch";
    if (type.getDimSize(0) != firstType.getDimSize(0)) {
      InFlightDiagnostic diag =
          emitError(argument.getLoc())
          << "input of " << type << " has a batch of " << type.getDimSize(0)
          << " rows; the first dimension is the batch, the same in all inputs";
      diag.attachNote(first.getLoc())
          << "this one has " << firstType.getDimSize(0);
      return diag;
    }
  }
  return success();
}

static bool isScalarFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         isa<FloatType>(tensor.getElementType());
}

static LogicalResult verifyLoss(func::FuncOp entry) {
  ArrayRef<Type> types = entry.getResultTypes();
  if (!types.empty() && isScalarFloat(types[0]) &&
      !entry.getResultAttr(0, kMetricAttr) &&
      !entry.getResultAttr(0, kMetricCountAttr) &&
      !entry.getResultAttr(0, kOutputAttr))
    return success();
  InFlightDiagnostic diag =
      entry.emitError("entry @")
      << entry.getSymName()
      << " must return the loss first, one float as in tensor<f32> without a "
         "name, but returns ";
  if (types.empty())
    return diag << "nothing";
  return diag << types;
}

/// Checks that all results after the loss are metrics, counts of them, and
/// outputs.
static LogicalResult verifyOtherResults(func::FuncOp entry) {
  Operation *ret = entry.getBody().front().getTerminator();
  auto batch = cast<RankedTensorType>(entry.getArgumentTypes()[0]);
  std::map<std::pair<StringRef, StringRef>, unsigned> known; // by attribute
  for (unsigned i = 1, e = entry.getNumResults(); i < e; ++i) {
    Location loc = ret->getOperand(i).getLoc();
    auto emit = [&]() -> InFlightDiagnostic {
      return emitError(loc)
             << "result " << i << " of entry @" << entry.getSymName() << " ";
    };
    StringAttr name;
    StringRef kind;
    unsigned kinds = 0;
    for (StringRef each : {kMetricAttr, kMetricCountAttr, kOutputAttr})
      if (auto found = entry.getResultAttrOfType<StringAttr>(i, each)) {
        name = found;
        kind = each;
        ++kinds;
      }
    if (kinds != 1)
      return emit() << "is neither the loss, which comes first, nor one metric "
                       "or one output: give it one of {pp.metric = \"name\"}, "
                       "{pp.metric_count = \"name\"} and {pp.output = "
                       "\"name\"}";
    bool isOutput = kind == kOutputAttr;
    if (failed(verifyName(loc, isOutput ? "output" : "metric", name)))
      return failure();
    if (!isOutput && name == "loss")
      return emit() << "is named \"loss\", as the first result is; rename it";
    auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
    if (isOutput &&
        (type.getRank() == 0 || type.getDimSize(0) != batch.getDimSize(0)))
      return emit() << "is an output of " << type
                    << ", and outputs have the rows of the batch, "
                    << batch.getDimSize(0)
                    << ", as their first dimension: a number of the whole "
                       "batch is a metric";
    if (!isOutput && !isScalarFloat(type))
      return emit() << "is a metric of " << entry.getResultTypes()[i]
                    << ", and metrics are one float as in tensor<f32>: "
                       "pp.reduce it over the batch, pp.cast integers";
    auto [first, isNew] = known.try_emplace({name, kind}, i);
    if (!isNew)
      return emit() << "is a second " << kind << " named " << name
                    << ", after result " << first->second << "; rename one";
  }
  for (auto [key, number] : known)
    if (auto [name, kind] = key;
        kind == kMetricCountAttr && !known.count({name, kMetricAttr}))
      return entry.emitError("result ")
             << number << " of entry @" << entry.getSymName()
             << " is what a metric \"" << name
             << "\" is divided by, and there is none: name the dividend "
                "{pp.metric = \""
             << name << "\"}";
  return success();
}

namespace {

struct VerifyModel : pp::impl::VerifyModelBase<VerifyModel> {
  using VerifyModelBase::VerifyModelBase;

  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult verify(ModuleOp module) {
    FailureOr<func::FuncOp> found = ::findEntry(module, entry);
    if (failed(found))
      return failure();
    for (Operation &op : *module.getBody())
      if (!isa<func::FuncOp>(op))
        return op.emitError("'")
               << op.getName() << "' is not a function; a model's file holds "
               << "functions only";
    SymbolTable symbols(module);
    if (failed(verifyModelAttributes(
            {AttributeHolder::Operation, module},
            module->getDiscardableAttrDictionary().getValue())) ||
        failed(verifyCalls(module, symbols)))
      return failure();
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(verifyAttributes(function)) ||
          (!function.isExternal() && failed(verifyOps(function))))
        return failure();
    if (failed(verifyParams(module, *found)) || failed(verifyInputs(*found)) ||
        failed(verifyBatch(*found)) || failed(verifyLoss(*found)))
      return failure();
    return verifyOtherResults(*found);
  }
};

} // namespace
