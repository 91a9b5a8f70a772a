//===- CutByCost.cpp - Cuts a list of ops into equally slow pieces --------===//

#include "ppopt/Transforms/Placement/CutByCost.h"
#include "ppopt/byte_amount.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

using namespace mlir::pp;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A triangle of entries (i, j), i < j.
template <typename T> class Triangle {
public:
  explicit Triangle(size_t size) : entries(size * (size + 1) / 2) {}
  T &at(size_t i, size_t j) { return entries[j * (j - 1) / 2 + i]; }

private:
  std::vector<T> entries;
};

/// The cost of a piece, independent of its number.
struct Range {
  double compute = 0, receives = 0, sends = 0;
  int64_t params = 0, saved = 0, temporary = 0;
};

class Cutter {
public:
  Cutter(const CutProblem &problem, int maxCutPoints);
  /// All of these return the points of the cut, one more than pieces; empty if
  /// no cut keeps every piece within `pieceMemory`.
  std::vector<size_t> findFastest(int64_t pieceMemory);
  /// The same within the memory of a place, for all of its pieces.
  std::vector<size_t> findFastestTogether(int64_t memory);
  /// Returns the cut whose largest piece needs least memory.
  std::vector<size_t> findSmallest();
  /// Returns the piece with the most bytes of parameters in the cut where that
  /// number is smallest, and the number.
  std::pair<int, int64_t> getUnavoidable();

  double getSlowest(const std::vector<size_t> &cut);
  /// Returns the place that needs the most memory, and how much.
  std::pair<int, int64_t> getLargest(const std::vector<size_t> &cut);
  int getPosition(size_t point) const { return points[point]; }

private:
  void choosePoints(int maxCutPoints);
  void measureFrom(size_t point);
  /// Returns the time of the piece between two cut points.
  double getTime(size_t i, size_t j, size_t piece);
  int64_t getMemory(size_t i, size_t j, size_t piece);
  /// Returns the cut whose piece costs combine to the smallest value.
  /// `isTooLong(compute, value)` tells whether a piece that computes for so
  /// long can't be in a cut of a smaller value.
  template <typename CostFn, typename CombineFn, typename TooLongFn>
  std::vector<size_t> minimize(CostFn cost, CombineFn combine,
                               TooLongFn isTooLong);
  template <typename BytesFn> std::vector<size_t> findSmallest(BytesFn bytes);

  const CutProblem &problem;
  size_t numPieces;
  std::vector<int> points; ///< cut points: item indices, from 0 to all
  Triangle<Range> ranges{0};
  /// For each value, the items that read it, in order.
  std::vector<std::vector<int>> readers;
  std::vector<std::vector<int>> paramReaders;
};

Cutter::Cutter(const CutProblem &problem, int maxCutPoints)
    : problem(problem), numPieces(problem.placeOf.size()),
      readers(problem.values.size()), paramReaders(problem.paramBytes.size()) {
  for (size_t item = 0; item < problem.items.size(); ++item) {
    for (int value : problem.items[item].reads)
      readers[value].push_back(item);
    for (int param : problem.items[item].params)
      paramReaders[param].push_back(item);
  }
  choosePoints(maxCutPoints);
  ranges = Triangle<Range>(points.size());
  for (size_t point = 0; point + 1 < points.size(); ++point)
    measureFrom(point);
}

void Cutter::choosePoints(int maxCutPoints) {
  int count = problem.items.size();
  points.push_back(0);
  if (count <= maxCutPoints) {
    for (int item = 1; item <= count; ++item)
      points.push_back(item);
    return;
  }
  // The transfer time that crosses each position, by differences.
  std::vector<double> crossing(count + 1, 0);
  double total = 0;
  for (size_t value = 0; value < readers.size(); ++value) {
    if (readers[value].empty())
      continue;
    crossing[problem.values[value].item + 1] +=
        problem.values[value].transferTime;
    crossing[readers[value].back() + 1 <= count ? readers[value].back() + 1
                                                : count] -=
        problem.values[value].transferTime;
  }
  for (int position = 1; position <= count; ++position)
    crossing[position] += crossing[position - 1];
  for (const CutProblem::Item &item : problem.items)
    total += item.time;
  double elapsed = 0;
  int best = 0, window = 0;
  for (int position = 1; position < count; ++position) {
    elapsed += problem.items[position - 1].time;
    // Position counts too, so that windows stay bounded where items take no
    // time.
    int next = static_cast<int>((elapsed / std::max(total, 1e-30) +
                                 static_cast<double>(position) / count) /
                                2 * maxCutPoints);
    if (next != window && best > 0) {
      points.push_back(best);
      best = 0;
    }
    window = next;
    if (best == 0 || crossing[position] < crossing[best])
      best = position;
  }
  if (best > 0)
    points.push_back(best);
  points.push_back(count);
}

/// Fills the ranges that begin at a cut point, item by item.
void Cutter::measureFrom(size_t point) {
  int begin = points[point];
  Range range;
  double compute = 0, receives = 0, sends = 0;
  /// Whether `item` is the first reader in this range.
  auto isFirstReader = [&](const std::vector<int> &all, int item) {
    auto first = std::lower_bound(all.begin(), all.end(), begin);
    return *first == item;
  };
  std::vector<double> ends(problem.items.size() + 1, 0);
  // Values are sorted by the item that makes them.
  size_t value =
      std::partition_point(
          problem.values.begin(), problem.values.end(),
          [&](const CutProblem::Value &v) { return v.item < begin; }) -
      problem.values.begin();
  size_t end = point + 1;
  for (int item = begin; end < points.size(); ++item) {
    const CutProblem::Item &current = problem.items[item];
    compute += current.time;
    range.saved += current.savedBytes;
    range.temporary = std::max(range.temporary, current.temporaryBytes);
    for (int read : current.reads) {
      if (!isFirstReader(readers[read], item))
        continue;
      const CutProblem::Value &value = problem.values[read];
      if (value.item >= begin) {
        range.saved += value.keptBytes;
        continue;
      }
      receives += value.transferTime;
      range.saved += value.receivedBytes;
    }
    for (int param : current.params)
      if (isFirstReader(paramReaders[param], item))
        range.params += problem.paramBytes[param];
    for (; value < problem.values.size() && problem.values[value].item == item;
         ++value)
      if (!readers[value].empty()) {
        sends += problem.values[value].transferTime;
        ends[readers[value].back()] += problem.values[value].transferTime;
      }
    sends -= ends[item];
    if (item + 1 != points[end])
      continue;
    range.compute = compute;
    range.receives = receives;
    range.sends = std::max(sends, 0.0);
    ranges.at(point, end) = range;
    ++end;
  }
}

/// A transfer to a neighbour on the same place costs nothing. A transfer from
/// further away, past such a neighbour, is not counted either.
double Cutter::getTime(size_t i, size_t j, size_t piece) {
  const Range &range = ranges.at(i, j);
  const std::vector<int> &place = problem.placeOf;
  double time = range.compute;
  if (piece > 0 && place[piece - 1] != place[piece])
    time += range.receives;
  if (piece + 1 < numPieces && place[piece + 1] != place[piece])
    time += range.sends;
  return time;
}

int64_t Cutter::getMemory(size_t i, size_t j, size_t piece) {
  const Range &range = ranges.at(i, j);
  return range.params + range.saved * problem.inFlight[piece] + range.temporary;
}

template <typename CostFn, typename CombineFn, typename TooLongFn>
std::vector<size_t> Cutter::minimize(CostFn cost, CombineFn combine,
                                     TooLongFn isTooLong) {
  size_t count = points.size();
  // The best value of the first pieces, which end at point j.
  std::vector<double> best(count, kInfinity), next(count);
  std::vector<std::vector<size_t>> from(numPieces,
                                        std::vector<size_t>(count, count));
  best[0] = 0;
  for (size_t piece = 0; piece < numPieces; ++piece) {
    std::fill(next.begin(), next.end(), kInfinity);
    // Every later piece needs a point.
    size_t remaining = numPieces - piece - 1;
    for (size_t j = remaining ? piece + 1 : count - 1; j + remaining < count;
         ++j)
      for (size_t i = j; i-- > piece;) {
        // A piece that begins earlier computes even longer.
        if (isTooLong(ranges.at(i, j).compute, next[j]))
          break;
        double value = best[i] == kInfinity
                           ? kInfinity
                           : combine(best[i], cost(i, j, piece));
        if (value < next[j]) {
          next[j] = value;
          from[piece][j] = i;
        }
      }
    std::swap(best, next);
  }
  if (best[count - 1] == kInfinity)
    return {};
  std::vector<size_t> cut(numPieces + 1, count - 1);
  for (size_t piece = numPieces; piece-- > 0;)
    cut[piece] = from[piece][cut[piece + 1]];
  return cut;
}

std::vector<size_t> Cutter::findFastest(int64_t pieceMemory) {
  auto timeWithin = [&](size_t i, size_t j, size_t piece) {
    return getMemory(i, j, piece) <= pieceMemory ? getTime(i, j, piece)
                                                 : kInfinity;
  };
  auto larger = [](double a, double b) { return std::max(a, b); };
  std::vector<size_t> cut =
      minimize(timeWithin, larger, std::greater<double>());
  if (cut.empty())
    return cut;
  double slowest = getSlowest(cut);
  auto square = [&](size_t i, size_t j, size_t piece) {
    double time = timeWithin(i, j, piece);
    return time <= slowest ? time * time : kInfinity;
  };
  return minimize(square, std::plus<double>(),
                  [&](double compute, double value) {
                    return compute > slowest || compute * compute > value;
                  });
}

template <typename BytesFn>
std::vector<size_t> Cutter::findSmallest(BytesFn bytes) {
  auto larger = [](double a, double b) { return std::max(a, b); };
  return minimize(
      [&](size_t i, size_t j, size_t piece) {
        return static_cast<double>(bytes(i, j, piece));
      },
      larger, [](double, double) { return false; });
}

std::vector<size_t> Cutter::findSmallest() {
  return findSmallest(
      [&](size_t i, size_t j, size_t piece) { return getMemory(i, j, piece); });
}

std::pair<int, int64_t> Cutter::getUnavoidable() {
  auto params = [&](size_t i, size_t j, size_t) {
    return ranges.at(i, j).params;
  };
  std::vector<size_t> cut = findSmallest(params);
  std::pair<int, int64_t> largest(0, 0);
  for (size_t piece = 0; piece < numPieces; ++piece)
    if (int64_t bytes = params(cut[piece], cut[piece + 1], piece);
        bytes > largest.second)
      largest = {piece, bytes};
  return largest;
}

double Cutter::getSlowest(const std::vector<size_t> &cut) {
  double slowest = 0;
  for (size_t piece = 0; piece < numPieces; ++piece)
    slowest = std::max(slowest, getTime(cut[piece], cut[piece + 1], piece));
  return slowest;
}

std::pair<int, int64_t> Cutter::getLargest(const std::vector<size_t> &cut) {
  struct Place {
    int64_t params = 0, temporary = 0, held = 0;
    bool hasMoments = false;
    std::vector<int64_t> saved; ///< by piece
  };
  std::map<int, Place> places;
  for (size_t piece = 0; piece < numPieces; ++piece) {
    const Range &range = ranges.at(cut[piece], cut[piece + 1]);
    Place &place = places[problem.placeOf[piece]];
    place.params += range.params;
    // Only one piece of a place is computed at a time.
    place.temporary = std::max(place.temporary, range.temporary);
    place.held += range.saved * problem.inFlight[piece];
    place.saved.push_back(range.saved);
  }
  for (const CutProblem::Moment &moment : problem.moments) {
    Place &place = places[moment.place];
    int64_t held = std::inner_product(place.saved.begin(), place.saved.end(),
                                      moment.inFlight.begin(), int64_t(0));
    place.held = place.hasMoments ? std::max(place.held, held) : held;
    place.hasMoments = true;
  }
  std::pair<int, int64_t> largest(0, 0);
  for (const auto &[number, place] : places)
    if (int64_t bytes = place.params + place.held + place.temporary;
        bytes > largest.second)
      largest = {number, bytes};
  return largest;
}

std::vector<size_t> Cutter::findFastestTogether(int64_t memory) {
  std::vector<size_t> cut = findFastest(memory);
  if (cut.empty() || getLargest(cut).second <= memory)
    return cut;
  int perPlace = 1;
  for (int place : problem.placeOf)
    perPlace =
        std::max<int>(perPlace, std::count(problem.placeOf.begin(),
                                           problem.placeOf.end(), place));
  // With an equal share of the memory per piece, a place fits.
  int64_t fits = memory / perPlace, tooMuch = memory;
  cut = findFastest(fits);
  constexpr int64_t kSteps = 16; // between these
  for (int64_t step = (tooMuch - fits) / kSteps; tooMuch - fits > step;) {
    int64_t middle = fits + (tooMuch - fits) / 2;
    std::vector<size_t> wider = findFastest(middle);
    if (!wider.empty() && getLargest(wider).second > memory) {
      tooMuch = middle;
      continue;
    }
    fits = middle;
    cut = std::move(wider);
  }
  return cut;
}

} // namespace

PieceCut mlir::pp::cutByCost(const CutProblem &problem, int maxCutPoints) {
  PieceCut cut;
  int pieces = problem.placeOf.size(), items = problem.items.size();
  if (items < pieces) {
    cut.error = "the model has only " + std::to_string(items) +
                (items == 1 ? " op" : " ops") + " to cut into " +
                std::to_string(pieces) + " pieces";
    return cut;
  }
  Cutter cutter(problem, std::max(maxCutPoints, 2 * pieces + 2));
  int64_t memory = std::min(problem.fillMemory, problem.deviceMemory);
  std::vector<size_t> points = cutter.findFastestTogether(memory);
  // The memory of activations is known only when tasks have buffers, so a cut
  // whose estimate does not fit is not an error.
  if (points.empty()) {
    auto [piece, bytes] = cutter.getUnavoidable();
    if (bytes > problem.deviceMemory) {
      cut.error = "no cut fits: in the one that needs least, place " +
                  std::to_string(problem.placeOf[piece]) + " has " +
                  ::ppopt::spellByteAmount(bytes) +
                  " of parameters, gradients and optimizer state";
      return cut;
    }
    points = cutter.findSmallest();
  }
  cut.slowest = cutter.getSlowest(points);
  for (size_t point : points)
    cut.begin.push_back(cutter.getPosition(point));
  return cut;
}
