//===- ShardingTree.cpp - The ways to cut a model over tp -----------------===//
//
// A choice cuts one class of parameters, those of a shape whose names differ in
// numbers alone. What is cut then, too, and what ranks exchange, is asked of
// the propagation. Classes between whose choices no op is changed by both are
// independent. Where all depend on each other, one class is decided, and what
// is left is looked at again.
//
//===----------------------------------------------------------------------===//

#include "ShardingTree.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

#include <memory>

using namespace mlir;
using namespace mlir::pp;

/// The most parts of one matrix, such as queries, keys and values, that are
/// tried.
static constexpr int64_t kMostParts = 4;

/// The most ways of a group that are priced.
static constexpr size_t kMostWays = 12;

/// How many of the classes whose names are like those of another class may be
/// chosen.
static constexpr size_t kMostAlike = 8;

/// Returns the numbers in a name.
static SmallVector<StringRef> findNumbers(StringRef name) {
  SmallVector<StringRef> numbers;
  for (name = name.drop_until(llvm::isDigit); !name.empty();
       name = name.drop_until(llvm::isDigit)) {
    numbers.push_back(name.take_while(llvm::isDigit));
    name = name.drop_front(numbers.back().size());
  }
  return numbers;
}

/// Returns a glob for names that differ from this one in numbers alone, but not
/// in those that are given.
static std::string makeGlob(StringRef name, const llvm::BitVector &given = {}) {
  std::string glob;
  for (unsigned number = 0; !name.empty(); ++number) {
    for (char c : name.take_until(llvm::isDigit))
      glob += StringRef("*?[\\").contains(c) ? std::string("\\") + c
                                             : std::string(1, c);
    name = name.drop_until(llvm::isDigit);
    StringRef digits = name.take_while(llvm::isDigit);
    bool isGiven = number < given.size() && given[number];
    glob += isGiven || digits.empty() ? digits.str() : "*";
    name = name.drop_front(digits.size());
  }
  return glob;
}

/// Adds few globs that match the names of a class, which differ in numbers
/// alone, and none of the others. The class has one value of each number that
/// is given.
static void addGlobs(ArrayRef<StringRef> ofClass, ArrayRef<StringRef> others,
                     llvm::BitVector given,
                     SmallVectorImpl<std::string> &globs) {
  std::string glob = makeGlob(ofClass.front(), given);
  auto pattern = llvm::cantFail(llvm::GlobPattern::create(glob));
  if (given.all() || llvm::none_of(others, [&](StringRef name) {
        return pattern.match(name);
      })) {
    globs.push_back(glob);
    return;
  }
  using ByNumber = llvm::MapVector<StringRef, SmallVector<StringRef>>;
  std::optional<ByNumber> fewest;
  unsigned fixed = 0;
  for (unsigned i = 0; i < given.size(); ++i) {
    if (given[i])
      continue;
    ByNumber parts;
    for (StringRef name : ofClass)
      parts[findNumbers(name)[i]].push_back(name);
    if (!fewest || parts.size() < fewest->size()) {
      fewest = std::move(parts);
      fixed = i;
    }
  }
  given.set(fixed);
  for (auto &[number, part] : *fewest)
    addGlobs(part, others, given, globs);
}

/// Returns globs for the parameters of a name and a shape.
static SmallVector<std::string> spellClass(StringRef name,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<NamedShape> params) {
  std::string glob = makeGlob(name);
  SmallVector<StringRef> ofClass, others;
  for (const NamedShape &param : params)
    (makeGlob(param.name) == glob && param.shape == shape ? ofClass : others)
        .push_back(param.name);
  if (ofClass.empty()) // the model can't be compiled
    return {glob};
  SmallVector<std::string> globs;
  addGlobs(ofClass, others, llvm::BitVector(findNumbers(name).size()), globs);
  return globs;
}

static llvm::hash_code hashOf(const Sharding &sharding) {
  llvm::hash_code hash = llvm::hash_combine(sharding.sums, sharding.maxima);
  for (const Cuts &cuts : sharding.dims) {
    hash = llvm::hash_combine(hash, cuts.size());
    for (const Cut &cut : cuts)
      hash = llvm::hash_combine(hash, cut.axis, cut.period);
  }
  return hash;
}

namespace {

/// The sharding of each class that may be chosen; null: whole. One that cuts
/// nothing says that the parameters of the class are cut differently.
using ClassShardings = SmallVector<ShardingAttr>;

/// What follows from some choices.
struct Trial {
  ClassShardings cuts;
  CutEffect effect;
  std::vector<llvm::hash_code> ops; ///< what each reads and computes
};
using TrialPtr = std::shared_ptr<const Trial>;

/// A class of parameters that the model does not annotate.
struct ParamClass {
  SmallVector<std::string> globs;
  SmallVector<ParamOp> params;
  SmallVector<DimCut> choices;
};

class Explorer {
public:
  Explorer(func::FuncOp entry, const ShardingAxis &axis,
           ArrayRef<NamedShape> params);

  std::optional<ShardingTree> run();

private:
  using Groups = std::vector<std::vector<ShardingTree>>;
  /// By class that is open, what follows from its choices.
  using Options = llvm::MapVector<unsigned, SmallVector<TrialPtr>>;

  std::vector<SmallVector<ParamOp>> findClasses();
  bool mayChoose(ArrayRef<ParamOp> params) const;
  TrialPtr propagate(const ClassShardings &chosen);
  std::optional<Trial> propagateAnnotated();
  CutEffect getEffect(const ShardingTable &table) const;
  TrialPtr choose(const Trial &base, unsigned number, DimCut cut);
  void narrowChoices();
  bool isOption(const Trial &base, const Trial &with,
                const llvm::BitVector &open) const;
  llvm::BitVector findChanged(const Trial &base, const Trial &with) const;
  ShardingTree makeNode(const Trial &trial) const;
  Options findOptions(const Trial &base, const llvm::BitVector &open);
  Groups explore(const Trial &base, const llvm::BitVector &open);
  std::vector<ShardingTree> findWays(const Trial &base, const Options &options,
                                     ArrayRef<unsigned> group);

  func::FuncOp entry;
  ShardingAxes axes;
  SmallVector<ParamClass> classes;
  SmallVector<Operation *> ops;
  SmallVector<double> times;                           ///< of the ops, whole
  std::map<SmallVector<const void *>, TrialPtr> known; ///< null: refused
  TrialPtr root;
};

} // namespace

Explorer::Explorer(func::FuncOp entry, const ShardingAxis &axis,
                   ArrayRef<NamedShape> params)
    : entry(entry), axes(axis) {
  for (SmallVector<ParamOp> &found : findClasses()) {
    ParamOp first = found.front();
    classes.push_back(
        {spellClass(first.getParamName(), getShape(first), params),
         std::move(found),
         {}});
  }
  OpTimes ofOps(getDevice(entry->getParentOfType<ModuleOp>()));
  entry.walk([&](IterationSpaceOpInterface op) {
    ops.push_back(op);
    times.push_back(ofOps.get(op));
  });
}

/// Returns the classes that may be chosen, in the order of the model. Of those
/// with names like another's, they are the largest ones.
std::vector<SmallVector<ParamOp>> Explorer::findClasses() {
  using ByShape = llvm::MapVector<Attribute, SmallVector<ParamOp>>;
  llvm::MapVector<StringAttr, ByShape> found;
  Builder b(entry.getContext());
  for (auto param : entry.getOps<ParamOp>())
    found[b.getStringAttr(makeGlob(param.getParamName()))]
         [b.getDenseI64ArrayAttr(getShape(param))]
             .push_back(param);
  std::vector<SmallVector<ParamOp>> chosen;
  SmallVector<std::pair<int64_t, size_t>> alike; // by their bytes
  for (auto &[glob, byShape] : found)
    for (auto &[shape, params] : byShape) {
      if (!mayChoose(params))
        continue;
      if (byShape.size() > 1)
        alike.emplace_back(-getBytes(params.front()) *
                               static_cast<int64_t>(params.size()),
                           chosen.size());
      chosen.push_back(std::move(params));
    }
  llvm::sort(alike);
  for (auto [bytes, number] :
       ArrayRef(alike).drop_front(std::min(alike.size(), kMostAlike)))
    chosen[number].clear();
  llvm::erase_if(chosen, [](ArrayRef<ParamOp> each) { return each.empty(); });
  return chosen;
}

/// Returns whether the parameters of a class are matrices that the model does
/// not cut.
bool Explorer::mayChoose(ArrayRef<ParamOp> params) const {
  ParamOp first = params.front();
  return getShape(first).size() >= 2 &&
         llvm::none_of(params, [&](ParamOp each) {
           ShardingAttr given = each.getShardAttr();
           return given &&
                  llvm::any_of(given.getCuts(), [&](const DimCut &cut) {
                    return cut.axis == axes[0].name;
                  });
         });
}

//===----------------------------------------------------------------------===//
// What follows from choices
//===----------------------------------------------------------------------===//

CutEffect Explorer::getEffect(const ShardingTable &table) const {
  CutEffect effect;
  std::set<std::pair<const void *, size_t>> reshards;
  for (auto [number, op] : llvm::enumerate(ops)) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      Sharding cut = table.of(param.getResult());
      if (cut.getCutAxes())
        effect.saved += getBytes(param) - getBytes(param) / axes[0].parts;
    }
    auto found = table.ops.find(op);
    if (found == table.ops.end())
      continue;
    bool isCut = llvm::any_of(found->second.loops,
                              [](const Cuts &cuts) { return !cuts.empty(); });
    effect.work += times[number] / double(isCut ? axes[0].parts : 1);
    for (auto [operand, read] :
         llvm::zip(op->getOperands(), found->second.reads)) {
      const Sharding &from = table.of(operand);
      double bytes = countReshardBytes(axes, from, read,
                                       static_cast<double>(getBytes(operand)));
      if (bytes > 0 && reshards
                           .insert({operand.getAsOpaquePointer(),
                                    static_cast<size_t>(hashOf(read))})
                           .second) {
        effect.sent += bytes;
        ++effect.reshards;
      }
    }
  }
  return effect;
}

/// Returns nothing if the annotations can't be taken.
std::optional<Trial> Explorer::propagateAnnotated() {
  ScopedDiagnosticHandler silence(entry.getContext(),
                                  [](Diagnostic &) { return success(); });
  ShardingPropagation propagation(entry, axes);
  propagation.isTrial = true;
  if (failed(propagation.run()))
    return std::nullopt;
  const ShardingTable &table = propagation.getTable();
  Trial trial;
  for (ParamClass &each : classes) {
    auto getAttr = [&](ParamOp param) {
      ShardingAttr attr =
          writeSharding(entry.getContext(), axes, table.of(param.getResult()),
                        getShape(param));
      return attr && attr.isWhole() ? ShardingAttr() : attr;
    };
    ShardingAttr cut = getAttr(each.params.front());
    bool isAlike = llvm::all_of(
        each.params, [&](ParamOp param) { return getAttr(param) == cut; });
    trial.cuts.push_back(
        isAlike ? cut
                : ShardingAttr::get(entry.getContext(),
                                    getShape(each.params.front()).size(), {},
                                    {}, {}));
  }
  trial.effect = getEffect(table);
  for (Operation *op : ops) {
    llvm::hash_code hash(0);
    for (Value operand : op->getOperands())
      if (auto found = table.values.find(operand); found != table.values.end())
        hash = llvm::hash_combine(hash, hashOf(found->second));
    if (auto found = table.ops.find(op); found != table.ops.end()) {
      for (const Cuts &cuts : found->second.loops)
        for (const Cut &cut : cuts)
          hash = llvm::hash_combine(hash, &cuts - found->second.loops.data(),
                                    cut.period);
      for (const Sharding &read : found->second.reads)
        hash = llvm::hash_combine(hash, hashOf(read));
    }
    trial.ops.push_back(hash);
  }
  return trial;
}

/// Returns null if the choices can't be taken.
TrialPtr Explorer::propagate(const ClassShardings &chosen) {
  SmallVector<const void *> key;
  for (ShardingAttr attr : chosen)
    key.push_back(attr.getAsOpaquePointer());
  auto [found, isNew] = known.try_emplace(key);
  if (!isNew)
    return found->second;
  for (auto [each, attr] : llvm::zip(classes, chosen))
    for (ParamOp param : each.params)
      param.setShardAttr(attr && attr.isWhole() ? ShardingAttr() : attr);
  if (std::optional<Trial> trial = propagateAnnotated())
    found->second = std::make_shared<const Trial>(std::move(*trial));
  return found->second;
}

/// Returns what follows if a class is cut beside what is.
TrialPtr Explorer::choose(const Trial &base, unsigned number, DimCut cut) {
  ClassShardings chosen = base.cuts;
  auto rank =
      static_cast<unsigned>(getShape(classes[number].params.front()).size());
  chosen[number] = ShardingAttr::get(entry.getContext(), rank, cut, {}, {});
  return propagate(chosen);
}

/// Returns whether a way is no worse than another in all that is known of it.
static bool exceeds(const CutEffect &a, const CutEffect &b) {
  return a.sent <= b.sent && a.reshards <= b.reshards && a.saved >= b.saved &&
         a.work <= b.work;
}

/// Keeps of each class the choices that can be taken alone and that no other of
/// them exceeds.
void Explorer::narrowChoices() {
  for (auto [number, each] : llvm::enumerate(classes)) {
    SmallVector<std::pair<DimCut, TrialPtr>> kept;
    for (auto [dim, size] : llvm::enumerate(getShape(each.params.front())))
      for (int64_t outer = 1; outer <= kMostParts; ++outer) {
        if (size % (outer * axes[0].parts) != 0)
          continue;
        DimCut cut{static_cast<int64_t>(dim), outer, axes[0].name};
        TrialPtr with = choose(*root, number, cut);
        if (!with || llvm::any_of(kept, [&](const auto &other) {
              return exceeds(other.second->effect, with->effect);
            }))
          continue;
        llvm::erase_if(kept, [&](const auto &other) {
          return exceeds(with->effect, other.second->effect);
        });
        kept.emplace_back(cut, with);
      }
    for (auto &[cut, with] : kept)
      each.choices.push_back(cut);
  }
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

/// Returns whether a trial cuts what the base does, and beside it open classes
/// alone. Of others it may cut some parameters.
bool Explorer::isOption(const Trial &base, const Trial &with,
                        const llvm::BitVector &open) const {
  for (auto [number, cut] : llvm::enumerate(with.cuts))
    if (cut != base.cuts[number] &&
        (base.cuts[number] || (!open[number] && cut && !cut.isWhole())))
      return false;
  return true;
}

/// Returns the ops that one trial computes differently than the other.
llvm::BitVector Explorer::findChanged(const Trial &base,
                                      const Trial &with) const {
  llvm::BitVector changed(ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    changed[i] = base.ops[i] != with.ops[i];
  return changed;
}

ShardingTree Explorer::makeNode(const Trial &trial) const {
  ShardingTree node;
  node.effect = trial.effect;
  for (auto [number, cut] : llvm::enumerate(trial.cuts)) {
    if (cut == root->cuts[number] || cut.isWhole())
      continue;
    for (const std::string &glob : classes[number].globs)
      node.shard[glob] = spellSharding(cut);
  }
  return node;
}

Explorer::Options Explorer::findOptions(const Trial &base,
                                        const llvm::BitVector &open) {
  Options options;
  for (unsigned number : open.set_bits())
    for (DimCut cut : classes[number].choices)
      if (TrialPtr with = choose(base, number, cut);
          with && isOption(base, *with, open))
        options[number].push_back(with);
  return options;
}

/// Returns the groups of ways that open classes add to the base.
Explorer::Groups Explorer::explore(const Trial &base,
                                   const llvm::BitVector &open) {
  Options options = findOptions(base, open);
  llvm::EquivalenceClasses<unsigned> together;
  std::vector<std::pair<unsigned, llvm::BitVector>> changed;
  for (auto &[number, trials] : options) {
    together.insert(number);
    llvm::BitVector ofClass(ops.size());
    for (const TrialPtr &with : trials) {
      ofClass |= findChanged(base, *with);
      for (auto [other, cut] : llvm::enumerate(with->cuts))
        if (cut != base.cuts[other])
          together.unionSets(number, other);
    }
    for (auto &[other, ofOther] : changed)
      if (ofClass.anyCommon(ofOther))
        together.unionSets(number, other);
    changed.emplace_back(number, std::move(ofClass));
  }
  Groups groups;
  llvm::SmallDenseSet<unsigned> done;
  for (auto &[number, trials] : options)
    if (unsigned leader = together.getLeaderValue(number);
        done.insert(leader).second) {
      SmallVector<unsigned> group;
      for (unsigned member : together.members(number))
        if (options.count(member))
          group.push_back(member);
      llvm::sort(group);
      groups.push_back(findWays(base, options, group));
    }
  return groups;
}

/// Keeps the ways of a group whose places by work, by bytes and by reshards add
/// up to least.
static void keepLikely(std::vector<ShardingTree> &ways) {
  if (ways.size() <= kMostWays)
    return;
  SmallVector<std::pair<size_t, size_t>> ranks; // and the way
  for (size_t i = 0; i < ways.size(); ++i)
    ranks.push_back({0, i});
  auto addRanks = [&](llvm::function_ref<double(const CutEffect &)> get) {
    for (auto &[rank, way] : ranks)
      rank += llvm::count_if(ways, [&, way = way](const ShardingTree &other) {
        return get(other.effect) < get(ways[way].effect);
      });
  };
  addRanks([](const CutEffect &effect) { return effect.work; });
  addRanks([](const CutEffect &effect) { return effect.sent; });
  addRanks([](const CutEffect &effect) { return double(effect.reshards); });
  llvm::sort(ranks);
  std::vector<ShardingTree> kept;
  for (auto [rank, way] : ArrayRef(ranks).take_front(kMostWays))
    kept.push_back(std::move(ways[way]));
  ways = std::move(kept);
}

/// Decides the class of a group whose choices change most ops.
std::vector<ShardingTree> Explorer::findWays(const Trial &base,
                                             const Options &options,
                                             ArrayRef<unsigned> group) {
  llvm::BitVector open(classes.size());
  unsigned widest = group.front();
  size_t most = 0;
  for (unsigned number : group) {
    open.set(number);
    for (const TrialPtr &with : options.find(number)->second)
      if (size_t count = findChanged(base, *with).count(); count > most) {
        most = count;
        widest = number;
      }
  }
  open.reset(widest);
  std::vector<ShardingTree> ways;
  auto add = [&](const Trial &trial) {
    llvm::BitVector left = open;
    for (auto [number, cut] : llvm::enumerate(trial.cuts))
      if (cut)
        left.reset(number);
    Groups groups = explore(trial, left);
    if (groups.size() == 1) { // ways with the trial's own among them
      llvm::move(groups.front(), std::back_inserter(ways));
      return;
    }
    ways.push_back(makeNode(trial));
    ways.back().groups = std::move(groups);
  };
  add(base);
  for (const TrialPtr &with : options.find(widest)->second)
    add(*with);
  std::vector<ShardingTree> kept;
  for (ShardingTree &way : ways) {
    auto isBetter = [&](const ShardingTree &other) {
      return other.groups.empty() && exceeds(other.effect, way.effect);
    };
    if (way.groups.empty() && llvm::any_of(kept, isBetter))
      continue;
    llvm::erase_if(kept, [&](const ShardingTree &other) {
      return way.groups.empty() && other.groups.empty() &&
             exceeds(way.effect, other.effect);
    });
    kept.push_back(std::move(way));
  }
  keepLikely(kept);
  return kept;
}

std::optional<ShardingTree> Explorer::run() {
  root = propagate(ClassShardings(classes.size()));
  if (!root)
    return std::nullopt;
  narrowChoices();
  ShardingTree tree = makeNode(*root);
  llvm::BitVector open(classes.size());
  for (auto [number, cut] : llvm::enumerate(root->cuts))
    if (!cut)
      open.set(number);
  tree.groups = explore(*root, open);
  return tree;
}

std::optional<ShardingTree> pp::findShardings(ModuleOp module, int64_t parts,
                                              ArrayRef<NamedShape> params) {
  FailureOr<func::FuncOp> entry = findEntry(module);
  if (failed(entry))
    return std::nullopt;
  ShardingAxis axis{StringAttr::get(module.getContext(), "tp"), parts,
                    /*splitsBatch=*/false, /*at=*/0};
  return Explorer(*entry, axis, params).run();
}
