//===- Links.cpp - Times of what ranks send to each other -----------------===//

#include "ppopt/Analysis/Links.h"

#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ::ppopt::geometry;
namespace schema = ::ppopt::schema;

double pp::estimateLinkTime(int64_t bytes, const schema::LinkRates &link) {
  return link.latency + static_cast<double>(bytes) / link.rate;
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

/// Returns the devices in each of the units that the links of a level connect.
static int64_t getUnitSize(const Cluster &cluster, size_t level) {
  int64_t devices = 1;
  for (const schema::Level &inner : ArrayRef(cluster.levels).take_front(level))
    devices = llvm::SaturatingMultiply<uint64_t>(devices, inner.size);
  return std::min(devices, std::numeric_limits<int64_t>::max());
}

GroupSpread pp::spreadRanks(ArrayRef<int> ranks, const Cluster &cluster) {
  GroupSpread spread;
  spread.members = ranks.size();
  for (size_t level = 0; level < cluster.levels.size(); ++level) {
    int64_t size = getUnitSize(cluster, level);
    int64_t units = 0, fewest = ranks.size();
    for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
      while (end < ranks.size() && ranks[end] / size == ranks[begin] / size)
        ++end;
      ++units;
      fewest = std::min<int64_t>(fewest, end - begin);
    }
    spread.units.push_back(units);
    spread.fewest.push_back(fewest);
  }
  return spread;
}

int64_t GroupSpread::getJoined(size_t level) const {
  int64_t outer = level + 1 < units.size() ? units[level + 1] : 1;
  return llvm::divideCeil(units[level], outer);
}

namespace {

/// The ways of a collective over the levels of a cluster.
class CollectiveTimes {
public:
  CollectiveTimes(geometry::Collective kind, int64_t bytes,
                  const GroupSpread &spread, const Cluster &cluster)
      : kind(kind), bytes(bytes), spread(spread), cluster(cluster),
        rounds(geometry::rounds(kind, spread.members)) {}

  /// A ring enters and leaves each unit once, so of the hops on a chunk's way
  /// most are inside of units. As many rings as a unit has members go through
  /// it, each with a part of the bytes and with a member that has the link to
  /// the next unit.
  double getRing() const {
    double slowest = 0, time = 0;
    int64_t chunk = bytes / spread.members;
    forEachLevel([&](size_t level, const schema::LinkRates &link) {
      slowest =
          std::max(slowest, double(chunk) / (link.rate * spread.fewest[level]));
    });
    forEachLevel([&](size_t level, const schema::LinkRates &link) {
      double hops = spread.units[level] - getOuterUnits(level);
      time += hops * double(rounds) / double(spread.members - 1) *
              (link.latency + slowest);
    });
    return time;
  }

  /// In each round a member exchanges a chunk with another: with few that are
  /// near, and with many that are far.
  double getExchange() const {
    double time = 0;
    forEachLevel([&](size_t level, const schema::LinkRates &link) {
      double partners = double(spread.members) / getOuterUnits(level) -
                        double(spread.members) / spread.units[level];
      time += partners * double(rounds) / double(spread.members - 1) *
              estimateLinkTime(bytes / spread.members, link);
    });
    return time;
  }

  /// Two trees, each for half of the bytes: what is an inner node of one is a
  /// leaf of the other, so all links carry the bytes once up and once down.
  double getTree() const {
    double slowest = 0, latency = 0;
    forEachLevel([&](size_t level, const schema::LinkRates &link) {
      slowest =
          std::max(slowest, double(bytes) / (link.rate * spread.fewest[level]));
      latency += llvm::Log2_64_Ceil(spread.getJoined(level)) * link.latency;
    });
    return 2 * (latency + slowest);
  }

  /// Each unit reduces and scatters, then units reduce and gather what their
  /// members have, then each unit gathers.
  double getHierarchy() const {
    double time = 0;
    forEachLevel([&](size_t level, const schema::LinkRates &link) {
      double joined = spread.getJoined(level);
      double part = double(bytes) / spread.fewest[level];
      time += (joined - 1) * (link.latency + part / joined / link.rate);
    });
    return geometry::isAllReduce(kind) ? 2 * time : time;
  }

  bool isEven() const {
    return llvm::all_of(llvm::seq(spread.units.size()), [&](size_t level) {
      return spread.units[level] * spread.fewest[level] == spread.members;
    });
  }

private:
  int64_t getOuterUnits(size_t level) const {
    return level + 1 < spread.units.size() ? spread.units[level + 1] : 1;
  }

  /// Calls `visit` for the levels that the group crosses.
  template <typename Visit> void forEachLevel(Visit visit) const {
    for (auto [level, links] : llvm::enumerate(cluster.levels))
      if (spread.units[level] > getOuterUnits(level))
        visit(level, links.collective);
  }

  const geometry::Collective kind;
  const int64_t bytes;
  const GroupSpread &spread;
  const Cluster &cluster;
  const int64_t rounds;
};

} // namespace

double pp::estimateCollectiveTime(geometry::Collective kind, int64_t bytes,
                                  const GroupSpread &spread,
                                  const Cluster &cluster) {
  if (spread.members == 1)
    return 0;
  CollectiveTimes times(kind, bytes, spread, cluster);
  if (kind == geometry::Collective::AllToAll)
    return times.getExchange();
  double time = times.getRing();
  if (!cluster.trees || kind == geometry::Collective::Broadcast)
    return time;
  if (geometry::isAllReduce(kind))
    time = std::min(time, times.getTree());
  return times.isEven() ? std::min(time, times.getHierarchy()) : time;
}

//===----------------------------------------------------------------------===//
// The links of a mesh
//===----------------------------------------------------------------------===//

/// Returns one level that joins any number of ranks of the device.
static Cluster makeFlat(const Device &device) {
  const schema::RankRates &rates =
      device.processes ? *device.processes : device.localThreads;
  Cluster flat;
  flat.levels.push_back(
      {"", schema::mostRanks, rates.transfer, rates.collective});
  return flat;
}

static geometry::Mesh getMesh(ModuleOp module) {
  for (auto plan : module.getOps<PlanOp>())
    return plan.getGeometry();
  return {};
}

Links::Links(const std::optional<Cluster> &cluster, const Device &device,
             geometry::Mesh mesh)
    : cluster(cluster ? *cluster : makeFlat(device)), mesh(std::move(mesh)) {}

Links::Links(ModuleOp module, const Device &device)
    : Links(getCluster(module), device, getMesh(module)) {}

/// Returns ranks of a place that have coordinate 0 on the fixed axes. Of ranks
/// that lie alike in their units there is one: those whose distance is a
/// multiple of the largest unit.
SmallVector<int64_t> Links::getBases(int64_t place,
                                     ArrayRef<std::string> fixedAxes) const {
  int64_t period = getUnitSize(cluster, cluster.levels.size() - 1);
  std::map<int64_t, int64_t> ofResidue;
  auto add = [&](int64_t rank) { ofResidue.try_emplace(rank % period, rank); };
  add(mesh.firstRank(place).value_or(0));
  for (const geometry::Axis &axis : mesh) {
    if (axis.name == geometry::placeAxis ||
        llvm::is_contained(fixedAxes, axis.name))
      continue;
    int64_t stride = mesh.stride(axis.name);
    for (int64_t rank : llvm::to_vector(llvm::make_second_range(ofResidue)))
      for (int64_t at = 1; at < axis.size; ++at)
        add(rank + at * stride);
  }
  return llvm::to_vector(llvm::make_second_range(ofResidue));
}

const Links::Spreads &Links::getSpreads(const geometry::Group &group,
                                        int64_t place) const {
  std::string key = (llvm::Twine(place) + ": " + mesh.describe(group)).str();
  auto [known, isNew] = spreads.try_emplace(key);
  if (isNew)
    for (int64_t base : getBases(place, group.axes)) {
      GroupSpread spread =
          spreadRanks(mesh.members(group, base).ranks, cluster);
      if (!llvm::is_contained(known->second, spread))
        known->second.push_back(std::move(spread));
    }
  return known->second;
}

double Links::estimateTime(geometry::Collective kind, int64_t bytes,
                           const geometry::Group &group, int64_t place) const {
  double time = 0;
  for (const GroupSpread &spread : getSpreads(group, place))
    time = std::max(time, estimateCollectiveTime(kind, bytes, spread, cluster));
  return time;
}

const schema::Level &Links::getLevel(const geometry::Group &group,
                                     int64_t place) const {
  size_t outermost = 0;
  for (const GroupSpread &spread : getSpreads(group, place))
    for (size_t level = 0; level < spread.units.size(); ++level)
      if (spread.units[level] > 1)
        outermost = std::max(outermost, level);
  return cluster.levels[outermost];
}

/// Returns the level whose links join the units of two ranks.
size_t Links::findLevel(int64_t rank, int64_t peer) const {
  size_t level = cluster.levels.size() - 1;
  while (level > 0 && rank / getUnitSize(cluster, level) ==
                          peer / getUnitSize(cluster, level))
    --level;
  return level;
}

const schema::Level &Links::getLevelBetween(int64_t from, int64_t to) const {
  size_t outermost = 0;
  for (int64_t rank : getBases(from, {}))
    outermost =
        std::max(outermost, findLevel(rank, mesh.peer(rank, to).value_or(0)));
  return cluster.levels[outermost];
}

int64_t Links::getStrideOfPlaces() const {
  return std::min(mesh.stride(geometry::placeAxis),
                  getUnitSize(cluster, cluster.levels.size() - 1));
}

const schema::Level &Links::getLevelOfPlaces() const {
  if (!levelOfPlaces) {
    const schema::Level *outermost = &cluster.levels.front();
    for (int64_t place = 1;
         place < mesh.places() && outermost != &cluster.levels.back(); ++place)
      outermost = std::max(outermost, &getLevelBetween(place - 1, place));
    levelOfPlaces = outermost - cluster.levels.data();
  }
  return cluster.levels[*levelOfPlaces];
}
