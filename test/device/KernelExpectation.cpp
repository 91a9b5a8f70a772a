//===- KernelExpectation.cpp - What a kernel must compute -----------------===//
//
// Tolerances are those of ppopt-emulate (CompareCommand.cpp), decided before
// the results of a device are known.
//
//===----------------------------------------------------------------------===//

#include "KernelExpectation.h"

#include "contents.h"
#include "parallel.h"

#include <cmath>
#include <cstring>
#include <mutex>

using namespace emulated;
namespace gpu = ppopt::gpu;
using gpu::ElementType;
using ppopt::schema::byteSize;

/// Elements that a core takes at a time.
static constexpr int64_t kGrain = 1 << 14;

KernelExpectation::KernelExpectation(gpu::Launch &launch,
                                     const ReferenceCode &reference,
                                     int64_t seed, int64_t samples)
    : launch(launch), reference(reference), seed(seed), samples(samples) {
  for (const Buffer &buffer : launch.buffers)
    memory.emplace_back(memory.size(),
                        buffer.elements() * byteSize(buffer.type),
                        /*offset=*/0);
  for (int64_t argument : launch.arguments)
    addresses.push_back(memory[argument].data());
}

void KernelExpectation::run() {
  for (auto [i, buffer] : llvm::enumerate(launch.buffers))
    if (buffer.isRead)
      gpu::drawElements(launch, i, seed, memory[i].data());
  reference.runOnAllCores(launch.name, addresses.data());
}

double KernelExpectation::read(const Expectation &result,
                               int64_t element) const {
  return gpu::readElement(dataOf(result), element, bufferOf(result).type);
}

//===----------------------------------------------------------------------===//
// The draw
//===----------------------------------------------------------------------===//

/// Returns whether a result has the elements of an argument, for example
/// because a flag says that nothing is to be updated.
bool KernelExpectation::isArgument(const Expectation &result,
                                   const std::vector<int64_t> &elements) const {
  const Buffer &own = bufferOf(result);
  int64_t bytes = byteSize(own.type);
  for (auto [i, buffer] : llvm::enumerate(launch.buffers)) {
    if (!buffer.isRead || buffer.type != own.type ||
        buffer.elements() != own.elements())
      continue;
    // An argument that is written has its elements no more.
    std::vector<char> drawn;
    const char *contents = memory[i].data();
    if (buffer.isWritten) {
      drawn.resize(own.elements() * bytes);
      gpu::drawElements(launch, i, seed, drawn.data());
      contents = drawn.data();
    }
    if (llvm::all_of(elements, [&](int64_t element) {
          return memcmp(contents + element * bytes,
                        dataOf(result) + element * bytes, bytes) == 0;
        }))
      return true;
  }
  return false;
}

/// Returns how much the values of a result say, at most 1.
double KernelExpectation::rate(const Expectation &result) const {
  std::vector<int64_t> elements =
      gpu::chooseSamples(launch, result.buffer, samples, seed);
  double rating = double(result.finite) / bufferOf(result).elements();
  if (rating > 0.99)
    rating = 1;
  if (isArgument(result, elements))
    rating = 0;
  bool isConstant = llvm::all_of(elements, [&](int64_t element) {
    return read(result, element) == read(result, elements.front());
  });
  if (isConstant && elements.size() > 1)
    rating /= 2;
  // Of errors relative to an exceptional element less is seen.
  constexpr double kUsual = 64;
  double excess = result.largest / (kUsual * result.mean);
  return excess > 1 ? rating * 0.9 / std::pow(excess, 0.1) : rating;
}

double KernelExpectation::rateResults() {
  double rating = 0;
  for (Expectation &result : launch.expectations) {
    describe(result);
    rating += rate(result);
  }
  return rating / launch.expectations.size();
}

/// Leaves the results of the draw that say most.
void KernelExpectation::chooseDraw() {
  gpu::Draw best;
  double highest = -1;
  bool hasFlag = llvm::any_of(launch.buffers, [](const gpu::Buffer &buffer) {
    return buffer.isRead && buffer.fill == gpu::Fill::flag;
  });
  for (gpu::Draw draw : {gpu::Draw{false, false}, gpu::Draw{true, false},
                         gpu::Draw{false, true}, gpu::Draw{true, true}}) {
    if (draw.flags && !hasFlag)
      continue;
    launch.draw = draw;
    run();
    double rating = rateResults();
    if (rating == 1)
      return;
    if (rating > highest)
      best = draw, highest = rating;
  }
  launch.draw = best;
  run();
  rateResults();
}

//===----------------------------------------------------------------------===//
// The results
//===----------------------------------------------------------------------===//

void KernelExpectation::keepResults() {
  wanted.clear();
  for (const Expectation &result : launch.expectations) {
    const Buffer &buffer = bufferOf(result);
    const char *data = dataOf(result);
    wanted.emplace_back(data, data + buffer.elements() * byteSize(buffer.type));
  }
}

/// Calls `visit(sum, element)` for all elements, on all cores, and `join` with
/// each core's sum, which begins at 0.
template <typename Visit, typename Join>
static void forElements(int64_t elements, Visit visit, Join join) {
  std::mutex lock;
  gpu::forParts(elements, kGrain, [&](int64_t begin, int64_t end) {
    std::array<double, 3> sums{};
    for (int64_t i = begin; i < end; ++i)
      visit(sums, i);
    std::lock_guard<std::mutex> held(lock);
    join(sums);
  });
}

/// Measures all elements.
void KernelExpectation::describe(Expectation &result) {
  result.largest = result.mean = 0;
  result.finite = 0;
  forElements(
      bufferOf(result).elements(),
      [&](std::array<double, 3> &sums, int64_t i) {
        double magnitude = std::fabs(read(result, i));
        if (!std::isfinite(magnitude))
          return;
        sums[0] = std::max(sums[0], magnitude);
        sums[1] += magnitude;
        sums[2] += 1;
      },
      [&](const std::array<double, 3> &sums) {
        result.largest = std::max(result.largest, sums[0]);
        result.mean += sums[1];
        result.finite += int64_t(sums[2]);
      });
  result.mean /= std::max<int64_t>(result.finite, 1);
}

//===----------------------------------------------------------------------===//
// The tolerances
//===----------------------------------------------------------------------===//

/// Returns a rank: f64 has the smallest roundings.
static int getPrecision(ElementType type) {
  return type == ElementType::f64    ? 3
         : type == ElementType::f32  ? 2
         : type == ElementType::bf16 ? 1
                                     : 0;
}

static double getRounding(ElementType type) {
  return type == ElementType::f64   ? 0x1p-52
         : type == ElementType::f32 ? 0x1p-23
                                    : 0x1p-8;
}

/// Moves the floats of a buffer by one rounding, up or down at random.
static void perturb(char *data, const gpu::Buffer &buffer, uint64_t seed) {
  double rounding = getRounding(buffer.type);
  gpu::forParts(buffer.elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t bits = (uint64_t(i) + seed) * 0x9e3779b97f4a7c15;
      double sign = (bits ^ bits >> 29) >> 37 & 1 ? 1 : -1;
      gpu::writeElement(data, i, buffer.type,
                        gpu::readElement(data, i, buffer.type) *
                            (1 + sign * rounding));
    }
  });
}

void KernelExpectation::runPerturbed(ElementType least, uint64_t seedOfNoise) {
  for (auto [i, buffer] : llvm::enumerate(launch.buffers)) {
    if (!buffer.isRead)
      continue;
    gpu::drawElements(launch, i, seed, memory[i].data());
    if (buffer.fill == gpu::Fill::numbers &&
        getPrecision(buffer.type) >= getPrecision(least))
      perturb(memory[i].data(), buffer, seedOfNoise * 1000 + i);
  }
  reference.runOnAllCores(launch.name, addresses.data());
}

/// Returns by how much a result has changed, relative to its largest element.
double KernelExpectation::measureNoise(const Expectation &result) const {
  const Bytes &before = wanted[&result - launch.expectations.data()];
  ElementType type = bufferOf(result).type;
  double noise = 0;
  forElements(
      bufferOf(result).elements(),
      [&](std::array<double, 3> &sums, int64_t i) {
        double off = std::fabs(read(result, i) -
                               gpu::readElement(before.data(), i, type));
        if (std::isfinite(off))
          sums[0] = std::max(sums[0], off);
      },
      [&](const std::array<double, 3> &sums) {
        noise = std::max(noise, sums[0]);
      });
  return result.largest > 0 ? noise / result.largest : 0;
}

/// A result may be off by what rounding explains; where much cancels, by what
/// one rounding of the arguments changes on the CPU. Arguments of a type that
/// is narrower than the result's stay: the results of both follow from the same
/// numbers, with roundings of the result's type. Of these a kernel has some
/// more than one, except in bf16, whose sums are in f32.
void KernelExpectation::setTolerances() {
  int64_t elements = 0;
  for (const Buffer &buffer : launch.buffers)
    elements += buffer.elements();
  constexpr int64_t kLarge = 1 << 20;
  uint64_t seeds = elements > kLarge ? 1 : 4;
  for (ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::bf16}) {
    llvm::SmallVector<Expectation *> results;
    for (Expectation &result : launch.expectations)
      if (bufferOf(result).type == type)
        results.push_back(&result);
    for (Expectation *result : results)
      result->tolerance = type == ElementType::f64   ? 1e-12
                          : type == ElementType::f32 ? 1e-5
                                                     : 0x1p-7;
    bool hasArgument = llvm::any_of(launch.buffers, [&](const Buffer &buffer) {
      return buffer.isRead && buffer.fill == gpu::Fill::numbers &&
             getPrecision(buffer.type) >= getPrecision(type);
    });
    if (results.empty() || !hasArgument)
      continue;
    double roundings = type == ElementType::bf16 ? 1 : 16;
    for (uint64_t each = 0; each < seeds; ++each) {
      runPerturbed(type, each);
      for (Expectation *result : results)
        result->tolerance =
            std::max(result->tolerance, roundings * measureNoise(*result));
    }
  }
}

void KernelExpectation::compute(std::vector<double> &values) {
  chooseDraw();
  keepResults();
  for (Expectation &result : launch.expectations) {
    result.first = values.size();
    for (int64_t element :
         gpu::chooseSamples(launch, result.buffer, samples, seed))
      values.push_back(read(result, element));
    result.samples = values.size() - result.first;
  }
  setTolerances();
}
