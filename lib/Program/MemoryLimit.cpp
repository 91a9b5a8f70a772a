//===- MemoryLimit.cpp - Checks arenas against --device-memory ------------===//

#include "MemoryLimit.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/ListRanks.h"
#include "ppopt/Program/NcclMemory.h"
#include "ppopt/Program/Places.h"
#include "ppopt/byte_amount.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;
using ::ppopt::spellByteAmount;
namespace geometry = ::ppopt::geometry;

/// A place's bytes: in total, of the arena by kind, and those of NCCL.
struct PlaceMemory {
  int64_t place = 0, bytes = 0;
  llvm::MapVector<MemoryKind, int64_t> kinds;
  int64_t nccl = 0;
};

static SmallVector<PlaceMemory> measure(ModuleOp module, PlanOp plan) {
  SmallVector<PlaceMemory> places(plan.getPlaces());
  SmallVector<int64_t> nccl = getNcclBytes(module, plan);
  for (auto [i, place] : llvm::enumerate(places)) {
    place.place = i;
    place.bytes = place.nccl = nccl[i];
  }
  for (auto region : module.getOps<RegionOp>()) {
    if (region->hasAttr(kOverlaidAttr))
      continue;
    PlaceMemory &place = places[region.getPlace()];
    place.bytes += region.getBytes();
    if (region.getBytes() > 0)
      place.kinds[region.getKind()] += region.getBytes();
  }
  return places;
}

/// Returns "rank 2", "ranks 1, 3", "ranks 0, 1, .. 127": the ranks of a place.
static std::string nameRanks(PlanOp plan, int64_t place) {
  std::vector<int64_t> ranks = plan.getGeometry().ranksOf(place);
  return (ranks.size() == 1 ? "rank " : "ranks ") + listRanks(ranks, 8);
}

/// Returns whether all places fit once the states of each bucket are sharded
/// over the ranks that sum its gradients.
static bool fitsSharded(ModuleOp module, PlanOp plan,
                        ArrayRef<PlaceMemory> places) {
  SmallVector<int64_t> bytes;
  for (const PlaceMemory &place : places)
    bytes.push_back(place.bytes);
  int64_t states = getOptimizerStates(plan).size();
  for (auto bucket : module.getOps<BucketOp>()) {
    int64_t whole =
        states * bucket.getElements() * getElementBytes(bucket.getType());
    for (int64_t place : bucket.getUpdatePlaces())
      bytes[place] -= whole - whole / bucket.getChunks(plan.getGeometry());
  }
  return *llvm::max_element(bytes) <= *plan.getDeviceMemory();
}

/// Returns options that reduce the place's largest parts.
static SmallVector<std::string> suggest(const PlaceMemory &place, PlanOp plan) {
  auto bytesOf = [&](MemoryKind kind) { return place.kinds.lookup(kind); };
  int64_t rows = plan.getBatch() / plan.getBatchTiles();
  int64_t state = bytesOf(MemoryKind::Parameters) +
                  bytesOf(MemoryKind::Gradients) +
                  bytesOf(MemoryKind::Optimizer);
  int64_t activations =
      bytesOf(MemoryKind::Activations) + bytesOf(MemoryKind::Workspace);
  SmallVector<std::string> hints;
  if (activations > state) {
    if (plan.getRecompute() != Recompute::layer)
      hints.push_back(plan.getRecompute() == Recompute::none
                          ? "--recompute cheap, or layer"
                          : "--recompute layer, which keeps only what layers "
                            "return");
    if (rows > 1)
      hints.push_back("smaller microbatches: --microbatches above " +
                      std::to_string(plan.getMicrobatches()));
    if (plan.getSchedule() == "gpipe")
      hints.push_back("--schedule 1f1b, which keeps fewer microbatches in "
                      "flight than gpipe");
  }
  hints.push_back("more places: --mesh pp=" +
                  std::to_string(plan.getPlaces() + 1));
  if (bytesOf(MemoryKind::Inputs) > place.bytes / 4 || activations > state)
    if (rows > 1)
      hints.push_back(
          "more ranks for the rows: --mesh dp=" +
          std::to_string(plan.getGeometry().size(geometry::batchAxis) * 2));
  if (state > activations && plan.getOptimizer() != Optimizer::sgd)
    hints.push_back("--optimizer sgd, which has one state in place of two");
  return hints;
}

LogicalResult pp::checkMemoryLimit(ModuleOp module, PlanOp plan) {
  if (!plan.getDeviceMemory())
    return success();
  int64_t limit = *plan.getDeviceMemory();
  SmallVector<PlaceMemory> places = measure(module, plan);
  PlaceMemory &largest = *llvm::max_element(
      places, [](const PlaceMemory &a, const PlaceMemory &b) {
        return a.bytes < b.bytes;
      });
  if (largest.bytes <= limit)
    return success();
  InFlightDiagnostic diag = mlir::emitError(plan.getLoc());
  diag << "place " << largest.place << " (" << nameRanks(plan, largest.place)
       << ") needs " << spellByteAmount(largest.bytes) << ", "
       << spellByteAmount(largest.bytes - limit) << " more than the "
       << spellByteAmount(limit) << " that --device-memory allows";
  if (largest.nccl > 0)
    diag << "; " << spellByteAmount(largest.nccl)
         << " of that are for the buffers of NCCL";
  SmallVector<std::pair<StringRef, int64_t>> kinds;
  for (auto [kind, bytes] : largest.kinds)
    kinds.push_back({stringifyMemoryKind(kind), bytes});
  llvm::sort(kinds, [](const auto &a, const auto &b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  Diagnostic &note = diag.attachNote() << "the largest parts: ";
  llvm::interleaveComma(
      ArrayRef(kinds).take_front(3), note, [&](const auto &kind) {
        note << kind.first << " " << spellByteAmount(kind.second);
      });
  SmallVector<std::string> hints = suggest(largest, plan);
  // What stage 1 needs is known; later stages have temporaries too.
  bool fits = plan.getZero() == 0 && fitsSharded(module, plan, places);
  int64_t next = fits ? 1 : std::max<int64_t>(plan.getZero() + 1, 2);
  bool canShard = llvm::any_of(module.getOps<BucketOp>(), [](BucketOp bucket) {
    return bucket.getShardGroup() && !bucket.getBorrowed();
  });
  if (fits || (canShard && next <= 3))
    hints.insert(hints.begin(),
                 ("--zero " + Twine(next) + ", which shards " +
                  describeStage(next) + (fits ? " and fits" : ""))
                     .str());
  diag.attachNote() << "what would help: " << llvm::join(hints, "; ");
  return diag;
}
