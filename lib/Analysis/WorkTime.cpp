//===- WorkTime.cpp - The time of work on a device ------------------------===//

#include "ppopt/Analysis/Cost.h"

#include "ppopt/Dialect/PP/PP.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;
namespace schema = ::ppopt::schema;

ElementWork &ElementWork::operator+=(const ElementWork &other) {
  computed += other.computed;
  moved += other.moved;
  scores += other.scores;
  operations += other.operations;
  divisions += other.divisions;
  functions += other.functions;
  draws += other.draws;
  drawing += other.drawing;
  return *this;
}

void Work::addMatmul(const MatmulWork &matmul) {
  flops += matmul.flops;
  matmuls.push_back(matmul);
}

void Work::setBytes(double count) {
  bytes = count;
  traffic.clear();
  launches = 0;
  if (count > 0) {
    traffic.push_back(count);
    launches = 1;
  }
}

Work &Work::operator+=(const Work &other) {
  flops += other.flops;
  elements += other.elements;
  bytes += other.bytes;
  llvm::append_range(matmuls, other.matmuls);
  for (auto [own, added] : llvm::zip(ofType, other.ofType))
    own += added;
  llvm::append_range(traffic, other.traffic);
  launches += other.launches;
  return *this;
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

namespace {

/// Where a size lies among those of a grid, on a logarithmic scale.
struct GridPosition {
  size_t low = 0;
  double beyond = 0; ///< from `low` to the next, in [0, 1)

  template <typename Sizes, typename GetSize>
  GridPosition(const Sizes &sizes, double size, GetSize getSize) {
    while (low + 1 < sizes.size() && getSize(sizes[low + 1]) <= size)
      ++low;
    double begin = getSize(sizes[low]);
    if (low + 1 < sizes.size() && size > begin)
      beyond =
          std::log(size / begin) / std::log(getSize(sizes[low + 1]) / begin);
  }
};

/// Sums amounts by rate: the result does not depend on the order of amounts of
/// one rate.
class Tally {
public:
  void add(double amount, double rate) {
    for (auto &[known, sum] : amounts)
      if (known == rate) {
        sum += amount;
        return;
      }
    amounts.emplace_back(rate, amount);
  }
  double getTime() const {
    double time = 0;
    for (auto [rate, sum] : amounts)
      time += sum / rate;
    return time;
  }

private:
  SmallVector<std::pair<double, double>, 4> amounts;
};

} // namespace

/// Returns the rate between two rates: times are interpolated.
static double interpolate(double low, double high, double beyond) {
  return beyond == 0 ? low : 1 / ((1 - beyond) / low + beyond / high);
}

template <typename T>
static const T &findType(const std::vector<T> &entries,
                         ::ppopt::MatmulType type) {
  return *llvm::find_if(entries, [&](const T &e) { return e.type == type; });
}

/// Returns the bytes between the rows in memory of a transposed operand.
static double getStride(const MatmulWork &work) {
  return work.m * (work.type == ::ppopt::MatmulType::f64    ? 8
                   : work.type == ::ppopt::MatmulType::bf16 ? 2
                                                            : 4);
}

static double getMemoryRate(const Device &device, double bytes) {
  const std::vector<schema::MemoryRate> &memory = device.memory;
  GridPosition at(memory, bytes, [](const schema::MemoryRate &rate) {
    return static_cast<double>(rate.bytes);
  });
  size_t next = at.low + (at.beyond > 0 ? 1 : 0);
  return interpolate(memory[at.low].rate, memory[next].rate, at.beyond);
}

/// Returns the share of a GPU's rate that a matmul of one batch or many reaches
/// if its tiles are dealt out to the multiprocessors. They take turns at the
/// tiles, so the last turn may leave some of them idle. A library chooses among
/// shapes of tiles, and may cut the terms into parts whose sums it adds.
static double getShareOfRate(const Device &device, const MatmulWork &work,
                             double rate) {
  constexpr std::pair<int, int> shapes[] = {
      {128, 256}, {256, 128}, {128, 192}, {192, 128}, {128, 128}};
  constexpr int mostParts = 16;
  const schema::Multiprocessors &gpu = *device.multiprocessors;
  auto count = static_cast<double>(gpu.count);
  double products = work.flops / 2, best = 0;
  double matrices = products / (work.m * work.n * work.k);
  for (auto [rows, columns] : shapes)
    for (int parts = 1; parts <= mostParts; ++parts) {
      double tiles = matrices * parts * std::ceil(work.m / rows) *
                     std::ceil(work.n / columns);
      double ofTerms = 2.0 * rows * columns * work.k / parts / (rate / count);
      double time = std::ceil(tiles / count) * (ofTerms + gpu.tile);
      if (parts > 1) { // each sum is written and read in f32
        double bytes = 8 * matrices * parts * work.m * work.n;
        time += bytes / getMemoryRate(device, bytes);
      }
      best = std::max(best, work.flops / rate / time);
    }
  return best;
}

static double getRate(const schema::MatmulRates &grid, const MatmulWork &work) {
  const std::vector<double> &rates =
      work.isTransposed ? grid.transposed : grid.rates;
  auto toDouble = [](int64_t size) { return static_cast<double>(size); };
  GridPosition m(grid.m, work.m, toDouble), n(grid.n, work.n, toDouble),
      k(grid.k, work.k, toDouble);
  auto at = [&](size_t dm, size_t dn, size_t dk) {
    auto index = [](const GridPosition &at, size_t further) {
      return at.low + (at.beyond > 0 ? further : 0);
    };
    return rates[(index(m, dm) * grid.n.size() + index(n, dn)) * grid.k.size() +
                 index(k, dk)];
  };
  auto alongK = [&](size_t dm, size_t dn) {
    return interpolate(at(dm, dn, 0), at(dm, dn, 1), k.beyond);
  };
  auto alongN = [&](size_t dm) {
    return interpolate(alongK(dm, 0), alongK(dm, 1), n.beyond);
  };
  double rate = interpolate(alongN(0), alongN(1), m.beyond);
  bool isAliased = work.isTransposed && std::fmod(getStride(work), 4096) == 0;
  return isAliased ? rate / grid.aliased : rate;
}

static double getRate(const Device &device, const MatmulWork &work) {
  if (work.kind == MatmulWork::Library) {
    double rate = getRate(findType(device.matmuls, work.type), work);
    return device.multiprocessors ? rate * getShareOfRate(device, work, rate)
                                  : rate;
  }
  const schema::AttentionRates &attention =
      findType(device.attention, work.type);
  return work.kind == MatmulWork::Attention ? attention.forward
                                            : attention.backward;
}

double Work::getComputeTime(const Device &device) const {
  Tally ofFlops, ofElements;
  for (const MatmulWork &matmul : matmuls)
    ofFlops.add(matmul.flops, getRate(device, matmul));
  double more = 0;
  for (auto [i, parts] : llvm::enumerate(ofType)) {
    auto type = static_cast<::ppopt::MatmulType>(i);
    const schema::ElementRates &rates = findType(device.elements, type);
    ofElements.add(parts.computed, rates.elements);
    ofElements.add(parts.moved, rates.moves);
    ofElements.add(parts.scores, findType(device.attention, type).scores);
    more += parts.operations * rates.operation +
            parts.divisions * rates.division + parts.functions * rates.function;
    if (rates.draw > 0)
      more += parts.draws * rates.draw - parts.drawing * rates.operation;
  }
  return ofFlops.getTime() + ofElements.getTime() + more;
}

double Work::getMemoryTime(const Device &device) const {
  Tally ofBytes;
  for (double bytes : traffic)
    ofBytes.add(bytes, getMemoryRate(device, bytes));
  return ofBytes.getTime();
}

bool Work::isBoundByMemory(const Device &device) const {
  return getMemoryTime(device) > getComputeTime(device);
}

double Work::getTime(const Device &device) const {
  double computing = getComputeTime(device), moving = getMemoryTime(device);
  return launches * device.launch +
         (device.roofline ? std::max(computing, moving) : computing + moving);
}
