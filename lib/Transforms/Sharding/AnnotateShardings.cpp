//===- AnnotateShardings.cpp - Shardings that the command line gives ------===//
//
// Before: a model with a plan. After: the same, with the shardings of --shard
// on its parameters and inputs.
//
//===----------------------------------------------------------------------===//

#include "geometry/axes.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Support/NearestNames.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NameGlobs.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "mlir/AsmParser/AsmParser.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ANNOTATESHARDINGS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// A parameter or an input, and what has annotated it.
struct Annotated {
  StringRef name;
  ParamOp param;       ///< null for an input
  unsigned input = 0;  ///< its number
  StringRef glob = {}; ///< empty: none
  ShardingAttr sharding = {};
};

struct AnnotateShardingsPass
    : pp::impl::AnnotateShardingsBase<AnnotateShardingsPass> {
  using AnnotateShardingsBase::AnnotateShardingsBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> found = findEntry(getOperation());
    if (failed(found))
      return signalPassFailure();
    entry = *found;
    all.clear();
    for (auto param : entry.getOps<ParamOp>())
      all.push_back({param.getParamName(), param});
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto name = entry.getArgAttrOfType<StringAttr>(i, kInputAttr))
        all.push_back({name, ParamOp(), i});
    FailureOr<PlanOp> foundPlan = findPlan(getOperation());
    if (failed(foundPlan))
      return signalPassFailure();
    plan = *foundPlan;
    if (failed(annotateAll(annotations)))
      return signalPassFailure();
    ShardingAxes axes = ShardingAxes::of(plan);
    for (unsigned i = 0; i < axes.size(); ++i)
      if (!axes[i].splitsBatch && failed(checkIsCut(axes[i])))
        return signalPassFailure();
  }

private:
  InFlightDiagnostic refuse() { return entry.emitError("--shard: "); }

  LogicalResult annotateAll(StringRef text) {
    auto names = llvm::map_to_vector(
        all, [](const Annotated &each) { return each.name; });
    auto begin = [&] { return refuse(); };
    GlobContext context{begin, "parameter or input", names};
    FailureOr<SmallVector<NameGlob>> globs = splitGlobs(
        text, context, "GLOB=SHARDING, such as '*.fc.weight=[{}, {tp}]'");
    if (failed(globs))
      return failure();
    for (const NameGlob &each : *globs)
      if (failed(annotate(each, context)))
        return failure();
    return success();
  }

  bool isCut(StringAttr axis) {
    auto cuts = [&](ShardingAttr sharding) {
      return sharding && llvm::any_of(sharding.getCuts(), [&](DimCut cut) {
               return cut.axis == axis;
             });
    };
    return llvm::any_of(all, [&](Annotated &each) {
      return cuts(each.param ? each.param.getShardAttr()
                             : entry.getArgAttrOfType<ShardingAttr>(
                                   each.input, kShardAttr));
    });
  }

  /// Checks that something is annotated with an axis of the model.
  LogicalResult checkIsCut(const ShardingAxis &axis) {
    if (isCut(axis.name))
      return success();
    InFlightDiagnostic diag = emitCutsNothing(entry, axis);
    SmallVector<StringRef> known;
    for (const geometry::KnownAxis &each : geometry::knownAxes)
      known.push_back(each.name);
    std::string question = ppopt::askForNearest(axis.name, known);
    if (!question.empty() && !llvm::is_contained(known, axis.name.getValue()))
      return diag << question;
    return diag << "; " << kAnnotateAdvice
                << ", or let --shard auto choose what tp cuts";
  }

  LogicalResult annotate(const NameGlob &glob, const GlobContext &context) {
    ShardingAttr sharding = parse(glob.value);
    if (!sharding || failed(checkNames(sharding)))
      return failure();
    FailureOr<SmallVector<unsigned>> matched = matchGlob(glob.glob, context);
    if (failed(matched))
      return failure();
    for (unsigned i : *matched)
      if (failed(set(all[i], glob.glob, sharding)))
        return failure();
    return success();
  }

  /// Returns null after an error.
  ShardingAttr parse(StringRef text) {
    ShardingAttr sharding;
    {
      ScopedDiagnosticHandler silence(&getContext(),
                                      [](Diagnostic &) { return success(); });
      sharding = dyn_cast_or_null<ShardingAttr>(
          parseAttribute(("#pp.sharding<" + text + ">").str(), &getContext()));
    }
    if (!sharding)
      refuse() << "'" << text
               << "' is no sharding, such as '[{}, {tp}]': for each dimension "
                  "the axes that cut it";
    return sharding;
  }

  /// A known axis that the mesh lacks cuts nothing, so that one text serves all
  /// meshes.
  LogicalResult checkNames(ShardingAttr sharding) {
    SmallVector<StringRef> known;
    auto add = [&](StringRef name) {
      if (geometry::useOf(name) == geometry::AxisUse::Model)
        known.push_back(name);
    };
    for (const geometry::KnownAxis &axis : geometry::knownAxes)
      add(axis.name);
    for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>())
      add(axis.getName());
    for (const DimCut &cut : sharding.getCuts())
      if (!llvm::is_contained(known, cut.axis.getValue()))
        return refuse() << "no axis that cuts the model is named '"
                        << cut.axis.getValue() << "'"
                        << ppopt::suggest(cut.axis, known);
    if (sharding.isPartial())
      return refuse() << "a parameter or an input is cut or whole, not a "
                         "partial result";
    return success();
  }

  LogicalResult set(Annotated &each, StringRef glob, ShardingAttr sharding) {
    if (!each.glob.empty() && each.sharding != sharding)
      return refuse() << "'" << each.glob << "' and '" << glob << "' match '"
                      << each.name << "' and say different shardings";
    each.glob = glob;
    each.sharding = sharding;
    if (each.param)
      each.param.setShardAttr(sharding);
    else
      entry.setArgAttr(each.input, kShardAttr, sharding);
    return success();
  }

  func::FuncOp entry;
  PlanOp plan;
  SmallVector<Annotated> all;
};

} // namespace
