//===- ProposeShardings.cpp - Matrices that an axis can cut ---------------===//
//
// Tries, one matrix after the other, what follows from cutting it: propagation
// says which other parameters are then cut, and which values ranks would
// exchange. Layers that are alike are cut alike.
//
//===----------------------------------------------------------------------===//

#include "ProposeShardings.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::pp;

/// The most parts of one matrix, such as queries, keys and values, that are
/// tried.
static constexpr int64_t kMostParts = 4;

/// Returns a glob for parameters whose names differ in numbers alone.
static StringAttr makeGlob(StringAttr name) {
  std::string glob;
  for (char c : name.getValue())
    if (!llvm::isDigit(c))
      glob += c;
    else if (!StringRef(glob).ends_with("*"))
      glob += '*';
  return StringAttr::get(name.getContext(), glob);
}

namespace {

using Params = SmallVector<ParamOp>;

class Proposal {
public:
  Proposal(func::FuncOp entry, const ShardingAxis &axis)
      : entry(entry), axes(axis) {
    for (auto param : entry.getOps<ParamOp>())
      groups[makeGlob(param.getParamNameAttr())].push_back(param);
  }

  std::string find();

private:
  bool isCandidate(ArrayRef<ParamOp> params) const;
  bool tryCut(ArrayRef<ParamOp> params, DimCut cut);
  bool exchangesSumsAlone(const ShardingTable &table);
  bool adopt(const ShardingTable &table);
  SmallVector<StringRef> spellGroup(StringAttr glob);

  func::FuncOp entry;
  ShardingAxes axes;
  llvm::MapVector<StringAttr, Params> groups;
  /// What was found, by glob.
  llvm::MapVector<StringAttr, ShardingAttr> found;
};

} // namespace

/// Returns whether the parameters of a group are equally large matrices that a
/// library multiplies and nothing has cut.
bool Proposal::isCandidate(ArrayRef<ParamOp> params) const {
  ParamOp first = params.front();
  return llvm::all_of(params, [&](ParamOp param) {
    return param.getType() == first.getType() && getShape(param).size() == 2 &&
           !param.getShardAttr() &&
           llvm::any_of(param->getUsers(),
                        llvm::IsaPred<LibraryCallOpInterface>);
  });
}

/// Returns whether all that ranks would exchange is what a sum needs.
bool Proposal::exchangesSumsAlone(const ShardingTable &table) {
  bool isExchanged = false;
  WalkResult result = entry.walk([&](Operation *op) {
    auto sharding = table.ops.find(op);
    if (sharding == table.ops.end())
      return WalkResult::advance();
    for (auto [operand, read] :
         llvm::zip(op->getOperands(), sharding->second.reads)) {
      const Sharding &from = table.of(operand);
      if (from == read)
        continue;
      if (from.maxima || from.getCutAxes() || read.getAxes())
        return WalkResult::interrupt();
      isExchanged = true;
    }
    return WalkResult::advance();
  });
  return isExchanged && !result.wasInterrupted();
}

/// Annotates the matrices of groups that the table cuts alike, if these are two
/// groups at least: one alone would save little.
bool Proposal::adopt(const ShardingTable &table) {
  SmallVector<std::pair<StringAttr, ShardingAttr>> cut;
  for (auto &[glob, params] : groups) {
    auto attrOf = [&](ParamOp param) {
      return writeSharding(entry.getContext(), axes,
                           table.of(param.getResult()), getShape(param));
    };
    ShardingAttr sharding = attrOf(params.front());
    if (isCandidate(params) && !sharding.isWhole() &&
        llvm::all_of(params,
                     [&](ParamOp param) { return attrOf(param) == sharding; }))
      cut.emplace_back(glob, sharding);
  }
  if (cut.size() < 2)
    return false;
  for (auto [glob, sharding] : cut) {
    for (ParamOp param : groups[glob])
      param.setShardAttr(sharding);
    found[glob] = sharding;
  }
  return true;
}

/// Tries to cut the matrices of a group.
bool Proposal::tryCut(ArrayRef<ParamOp> params, DimCut cut) {
  MLIRContext *context = entry.getContext();
  ParamOp first = params.front();
  if (getShape(first)[cut.dim] % (cut.outer * axes[0].parts) != 0)
    return false;
  for (ParamOp param : params)
    param.setShardAttr(ShardingAttr::get(context, 2, cut, {}, {}));
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  ShardingPropagation propagation(entry, axes);
  propagation.isTrial = true;
  bool isGood = succeeded(propagation.run()) &&
                exchangesSumsAlone(propagation.getTable());
  for (ParamOp param : params)
    param.removeShardAttr();
  return isGood && adopt(propagation.getTable());
}

/// Returns the glob of a group, or its names if other parameters match it too.
SmallVector<StringRef> Proposal::spellGroup(StringAttr glob) {
  ArrayRef<ParamOp> group = groups[glob];
  auto pattern = llvm::cantFail(llvm::GlobPattern::create(glob.getValue()));
  size_t matched = llvm::count_if(entry.getOps<ParamOp>(), [&](ParamOp param) {
    return pattern.match(param.getParamName());
  });
  if (matched == group.size())
    return {glob.getValue()};
  return llvm::map_to_vector(
      group, [](ParamOp param) { return param.getParamName(); });
}

std::string Proposal::find() {
  for (auto &[glob, params] : groups)
    for (int64_t dim : {1, 0})
      for (int64_t outer = 1; outer <= kMostParts && isCandidate(params);
           ++outer)
        tryCut(params, {dim, outer, axes[0].name});
  std::string text;
  for (auto &[glob, sharding] : found) {
    std::string spelled;
    llvm::raw_string_ostream(spelled) << sharding;
    StringRef cuts(spelled);
    cuts.consume_front("#pp.sharding<");
    cuts.consume_back(">");
    for (StringRef name : spellGroup(glob))
      text += (text.empty() ? "" : "; ") + (name + "=" + cuts).str();
  }
  return text;
}

std::string pp::proposeShardings(func::FuncOp entry, const ShardingAxis &axis) {
  OwningOpRef<func::FuncOp> copy(cast<func::FuncOp>(entry->clone()));
  for (auto param : copy->getOps<ParamOp>())
    param.removeShardAttr();
  return Proposal(*copy, axis).find();
}
