//===- PlanSpace.cpp - The plans that a search chooses among --------------===//

#include "ppopt/Search/PlanSpace.h"

#include "ppopt/shell_word.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
namespace schema = ppopt::schema;

geometry::Mesh PlanPoint::getMesh() const {
  SmallVector<std::pair<std::string, int64_t>> axes = {
      {"dp", dp}, {"fsdp", fsdp}, {"tp", tp}};
  axes.insert(axes.begin() + batchAxesOutside, {"pp", pp});
  geometry::Mesh mesh;
  if (dp == 1) // as where --mesh leaves it out
    mesh.add({std::string(geometry::batchAxis), 1});
  for (const auto &[name, size] : axes)
    if (size > 1)
      mesh.add({name, size});
  return mesh;
}

std::string PlanPoint::spell(StringRef separator) const {
  std::string text;
  auto add = [&](StringRef flag, std::string_view value) {
    text += (text.empty() ? "" : separator).str() + flag.str() + " " +
            ::ppopt::shellWord(value);
  };
  std::string sizes;
  for (const geometry::Axis &axis : getMesh())
    if (axis.size > 1)
      sizes += (sizes.empty() ? "" : ",") + axis.name + "=" +
               std::to_string(axis.size);
  add("--mesh", sizes.empty() ? "dp=1" : sizes);
  add("--microbatches", std::to_string(microbatches));
  if (!shard.empty())
    add("--shard", shard);
  if (zero > 0)
    add("--zero", std::to_string(zero));
  if (pp > 1)
    add("--schedule", schedule);
  if (schedule == "interleaved")
    add("--chunks", std::to_string(chunks));
  add("--recompute", schema::spell(recompute));
  return text;
}

std::optional<int64_t> PlanSpace::getKept(StringRef axis) const {
  for (const geometry::Axis &each : kept)
    if (each.name == axis)
      return each.size;
  return std::nullopt;
}

PlanOptions PlanSpace::getPlan(const PlanPoint &point) const {
  PlanOptions plan = base;
  plan.mesh = point.getMesh();
  plan.microbatches = point.microbatches;
  plan.zero = point.zero;
  plan.recompute = point.recompute;
  if (!point.shard.empty())
    plan.shard = point.shard;
  plan.choosesRecompute = false;
  plan.chunks.reset();
  if (point.schedule == "interleaved")
    plan.chunks = point.chunks;
  // Only places without stages are refused, and points have places.
  std::string wrong = setSchedule(plan, point.schedule);
  assert(wrong.empty());
  (void)wrong;
  return plan;
}

//===----------------------------------------------------------------------===//
// Enumeration
//===----------------------------------------------------------------------===//

SmallVector<int64_t> pp::getDivisors(int64_t number) {
  SmallVector<int64_t> small, large;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      small.push_back(i);
      if (i * i != number)
        large.push_back(number / i);
    }
  small.append(large.rbegin(), large.rend());
  return small;
}

namespace {

/// A schedule, and how many stages a place has.
struct Way {
  StringRef name;
  int64_t chunks;
};

/// Points of a space, from what is chosen first to what is chosen last.
class Enumeration {
public:
  Enumeration(const PlanSpace &space, int64_t rows,
              llvm::function_ref<void(const PlanPoint &)> visit)
      : space(space), rows(rows), visit(visit) {}

  void run() {
    forSizes("pp", space.ranks, [&](int64_t pp, int64_t left) {
      forSizes("tp", left, [&](int64_t tp, int64_t left) {
        forSizes("fsdp", left, [&](int64_t fsdp, int64_t dp) {
          if (rows % (dp * fsdp) != 0 || dp > kLargestAxis ||
              space.getKept("dp").value_or(dp) != dp)
            return;
          PlanPoint point;
          point.pp = pp;
          point.tp = tp;
          point.fsdp = fsdp;
          point.dp = dp;
          if (auto found = space.shards.find(tp); found != space.shards.end())
            point.shard = found->second;
          chooseOrder(point);
        });
      });
    });
  }

private:
  /// Calls `next` with each size that the axis may have of `ranks` ranks, and
  /// with the ranks that are left.
  void forSizes(StringRef axis, int64_t ranks,
                llvm::function_ref<void(int64_t size, int64_t left)> next) {
    for (int64_t size : getDivisors(ranks))
      if (size <= kLargestAxis && space.getKept(axis).value_or(size) == size)
        next(size, ranks / size);
  }

  /// Of one axis, dp without stage and fsdp with one: dp=8 --zero 1 is fsdp=8
  /// --zero 1. Of two, gradients are summed level by level without a stage too.
  /// A kept size may leave only the other name.
  bool isCanonical(const PlanPoint &point) const {
    if (point.zero > 0 && point.getBatchParts() == 1)
      return false;
    if (space.getKept("fsdp") || space.getKept("dp"))
      return true;
    return point.zero == 0 ? point.fsdp == 1 || point.dp > 1 : point.fsdp > 1;
  }

  /// On one machine, or with an axis alone, all orders are the same, and so are
  /// those of axes whose neighbours are on different machines in each.
  void chooseOrder(PlanPoint point) {
    chooseZero(point);
    const auto &cluster = space.base.cluster;
    if (point.pp == 1 || !cluster || cluster->levels.size() == 1 ||
        space.ranks <= cluster->levels.front().size)
      return;
    int64_t machine = cluster->getDevicesOfMachine();
    for (int64_t outside : {1, 2}) {
      bool hasAxis = outside == 1 ? point.dp > 1 && point.fsdp > 1
                                  : point.getBatchParts() > 1;
      int64_t inside = outside == 1 ? point.fsdp * point.tp : point.tp;
      point.batchAxesOutside = outside;
      if (hasAxis && inside < machine)
        chooseZero(point);
    }
  }

  void chooseZero(PlanPoint point) {
    auto choose = [&](int64_t zero) {
      point.zero = zero;
      point.gathersInTasks =
          zero == 3 && space.base.gather == schema::Gather::task;
      // A given stage also goes with a mesh that has nothing to shard over.
      if (isCanonical(point) ||
          (!space.choosesZero && point.getBatchParts() == 1))
        chooseMicrobatches(point);
    };
    if (!space.choosesZero)
      return choose(space.base.zero);
    for (int64_t zero : {0, 1, 2, 3})
      choose(zero);
  }

  void chooseMicrobatches(PlanPoint point) {
    int64_t rowsOfPart = rows / point.getBatchParts();
    for (int64_t count : getDivisors(rowsOfPart)) {
      if (count > PlanOptions::kMostMicrobatches ||
          (!space.choosesMicrobatches && count != space.base.microbatches))
        continue;
      point.microbatches = count;
      chooseRecompute(point);
    }
  }

  void chooseRecompute(PlanPoint point) {
    if (!space.choosesRecompute) {
      point.recompute = space.base.recompute;
      return chooseSchedule(point);
    }
    for (Recompute recompute :
         {Recompute::cheap, Recompute::none, Recompute::layer}) {
      point.recompute = recompute;
      chooseSchedule(point);
    }
  }

  /// gpipe takes as long as 1f1b and holds more; naive is gpipe with one
  /// microbatch.
  void chooseSchedule(PlanPoint point) {
    auto choose = [&](StringRef name, int64_t chunks) {
      point.schedule = name.str();
      point.chunks = chunks;
      visit(point);
    };
    if (!space.choosesSchedule) {
      std::optional<int> given;
      if (space.base.chunks)
        given = static_cast<int>(*space.base.chunks);
      auto shape = ::ppopt::schedule::getShape(space.base.schedule, given);
      if (point.pp > 1 || shape->chunks == 1)
        choose(space.base.schedule, shape->chunks);
      return;
    }
    SmallVector<Way> ways = {{"1f1b", 1}};
    SmallVector<int64_t> ofInterleaved = {2, 4};
    if (space.chunks)
      ofInterleaved = {std::max<int64_t>(2, *space.chunks)};
    for (int64_t chunks : ofInterleaved)
      ways.push_back({"interleaved", chunks});
    ways.append({{"zb-h1", 1}, {"zb-v", 2}, {"dualpipe-v", 2}});
    for (const Way &way : ways)
      if ((point.pp > 1 || way.name == "1f1b") &&
          way.chunks == space.chunks.value_or(way.chunks))
        choose(way.name, way.chunks);
  }

  const PlanSpace &space;
  const int64_t rows;
  llvm::function_ref<void(const PlanPoint &)> visit;
};

} // namespace

void PlanSpace::forEach(
    int64_t rows, llvm::function_ref<void(const PlanPoint &)> visit) const {
  Enumeration(*this, rows, visit).run();
}
