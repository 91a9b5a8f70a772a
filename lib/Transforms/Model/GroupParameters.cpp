//===- GroupParameters.cpp - Parameters that are trained differently ------===//
//
// Before: a model. After: the same, with what --freeze, --lr-scale and --decay
// say of its parameters, in place of what the model says.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NameGlobs.h"
#include "ppopt/Transforms/Model/Passes.h"

#include <cmath>

namespace mlir::pp {
#define GEN_PASS_DEF_GROUPPARAMETERS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A flag, and the parameters that it says something of.
class GroupFlag {
public:
  GroupFlag(StringRef flag, func::FuncOp entry) : flag(flag), entry(entry) {
    for (auto param : entry.getOps<ParamOp>()) {
      if (param.getState())
        continue; // no gradient reaches it
      params.push_back(param);
      names.push_back(param.getParamName());
    }
  }

  /// Calls `set` for each parameter that a glob matches.
  LogicalResult applyGlobs(StringRef text,
                           llvm::function_ref<void(ParamOp)> set) {
    return apply(text, /*example=*/"",
                 [&](ParamOp param, double) { set(param); });
  }
  /// The same, with the glob's factor.
  LogicalResult applyFactors(StringRef text,
                             llvm::function_ref<void(ParamOp, double)> set) {
    return apply(text, "GLOB=FACTOR, such as '*.bias=0.1'", set);
  }

private:
  LogicalResult apply(StringRef text, StringRef example,
                      llvm::function_ref<void(ParamOp, double)> set);
  FailureOr<double> readFactor(const NameGlob &each,
                               const GlobContext &context);

  StringRef flag;
  func::FuncOp entry;
  SmallVector<ParamOp> params;
  SmallVector<StringRef> names;
};

FailureOr<double> GroupFlag::readFactor(const NameGlob &each,
                                        const GlobContext &context) {
  double factor = 0;
  if (each.value.getAsDouble(factor) || !std::isfinite(factor) || factor < 0)
    return context.refuse() << "'" << each.value << "' of '" << each.glob
                            << "' is no finite number of at least 0",
           failure();
  return factor;
}

LogicalResult GroupFlag::apply(StringRef text, StringRef example,
                               llvm::function_ref<void(ParamOp, double)> set) {
  auto refuse = [&] { return entry.emitError(flag) << ": "; };
  GlobContext context{refuse, "parameter", names};
  FailureOr<SmallVector<NameGlob>> globs = splitGlobs(text, context, example);
  if (failed(globs))
    return failure();
  SmallVector<std::optional<NameGlob>> said(params.size());
  for (const NameGlob &each : *globs) {
    double factor = 0;
    if (!example.empty()) {
      FailureOr<double> read = readFactor(each, context);
      if (failed(read))
        return failure();
      factor = *read;
    }
    FailureOr<SmallVector<unsigned>> matched = matchGlob(each.glob, context);
    if (failed(matched))
      return failure();
    for (unsigned i : *matched) {
      if (said[i] && said[i]->value != each.value)
        return refuse() << "'" << said[i]->glob << "' and '" << each.glob
                        << "' match '" << names[i]
                        << "' and say different factors";
      said[i] = each;
      set(params[i], factor);
    }
  }
  return success();
}

struct GroupParametersPass
    : pp::impl::GroupParametersBase<GroupParametersPass> {
  using GroupParametersBase::GroupParametersBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    Builder builder(&getContext());
    /// Null for 1, which is the default.
    auto getScale = [&](double factor) {
      return factor == 1 ? TypedAttr() : builder.getF64FloatAttr(factor);
    };
    auto freezeParam = [](ParamOp param) { param.setFrozen(true); };
    auto scaleRate = [&](ParamOp param, double factor) {
      param.setLrScaleAttr(getScale(factor));
    };
    auto scaleDecay = [&](ParamOp param, double factor) {
      param.setNoDecay(factor == 0);
      param.setDecayScaleAttr(factor == 0 ? TypedAttr() : getScale(factor));
    };
    if (failed(GroupFlag("--freeze", *entry).applyGlobs(freeze, freezeParam)) ||
        failed(
            GroupFlag("--lr-scale", *entry).applyFactors(lrScale, scaleRate)) ||
        failed(GroupFlag("--decay", *entry).applyFactors(decay, scaleDecay)))
      signalPassFailure();
  }
};

} // namespace
