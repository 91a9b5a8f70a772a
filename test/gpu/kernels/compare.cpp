//===- compare.cpp - Results against expectations -------------------------===//

#include "compare.h"

#include "layout.h"
#include "parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <mutex>

namespace ppopt::gpu {
namespace {

/// Returns the absolute difference; 0 for two that are no numbers, or the same
/// infinity.
double differenceOf(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want)))
    return 0;
  double off = std::fabs(got - want);
  return std::isfinite(off) ? off : INFINITY;
}

/// 0 of 0 is nothing.
double relativeTo(double scale, double off) {
  return off == 0 ? 0 : scale > 0 ? off / scale : INFINITY;
}

/// The mean magnitude of all elements that are finite.
struct Magnitudes {
  long double sum = 0;
  double largest = 0;
  int64_t finite = 0;
};

Magnitudes addMagnitudes(const Buffer &buffer, const Bytes &memory) {
  Runs runs(buffer);
  Magnitudes all;
  std::mutex lock;
  forParts(runs.elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    Magnitudes part;
    for (int64_t i = begin; i < end;) {
      int64_t run = i / runs.length, at = i % runs.length,
              count = std::min(runs.length - at, end - i),
              place = runs.begin(run) + at;
      for (int64_t j = 0; j < count; ++j) {
        double value =
            std::fabs(readElement(memory.data(), place + j, buffer.type));
        if (!std::isfinite(value))
          continue;
        part.sum += value;
        part.largest = std::max(part.largest, value);
        ++part.finite;
      }
      i += count;
    }
    std::lock_guard<std::mutex> held(lock);
    all.sum += part.sum;
    all.largest = std::max(all.largest, part.largest);
    all.finite += part.finite;
  });
  return all;
}

/// What is added up in f64, in some order, has no smaller errors; what decides
/// between integers may decide otherwise in few of many elements.
double meanTolerance(const Buffer &buffer, const Comparison &result) {
  return std::max(result.tolerance, isFloat(buffer.type) ? 1e-10 : 1e-5);
}

void compareMagnitudes(const Buffer &buffer, const Expectation &expected,
                       const Bytes &got, Comparison &result) {
  Magnitudes all = addMagnitudes(buffer, got);
  double mean = all.finite ? double(all.sum / all.finite) : 0;
  result.mean = relativeTo(expected.mean, std::fabs(mean - expected.mean));
  double tolerance = meanTolerance(buffer, result);
  if (result.mean > tolerance)
    result.wrong = fmt::format("the mean magnitude of all elements is {:.9g}, "
                               "not {:.9g}: off by {:.2e}, more than {:.2e}",
                               mean, expected.mean, result.mean, tolerance);
  int64_t missing = std::abs(all.finite - expected.finite);
  if (double(missing) > 1e-5 * double(buffer.elements()))
    result.wrong = fmt::format("{} of {} elements are finite, not {}",
                               all.finite, buffer.elements(), expected.finite);
}

} // namespace

double Comparison::share() const {
  double terms = termsTolerance > 0 ? termsError / termsTolerance : 0;
  double own = tolerance > 0 ? error / tolerance : error > 0 ? INFINITY : 0;
  return std::max(terms, own);
}

Comparison compareResult(const Launch &launch, const Expectation &expected,
                         const std::vector<double> &values, int64_t seed,
                         const Bytes &got) {
  const Buffer &buffer = launch.buffers[size_t(expected.buffer)];
  std::vector<int64_t> elements =
      chooseSamples(launch, expected.buffer, expected.samples, seed);
  Comparison result;
  result.type = buffer.type;
  result.largest = expected.largest;
  result.tolerance = expected.tolerance;
  result.termsTolerance = expected.termsTolerance;
  result.compared = int64_t(elements.size());
  int64_t step = launch.matmul ? 2 : 1, worst = -1;
  std::vector<double> relative;
  for (size_t i = 0; i < elements.size(); ++i) {
    const double *sample = &values[size_t(expected.first + int64_t(i) * step)];
    double value =
        readElement(got.data(), placeOf(buffer, elements[i]), buffer.type);
    double off = differenceOf(value, *sample);
    off = std::max(0.0, off - expected.rounding * std::fabs(*sample));
    double error = relativeTo(expected.largest, off);
    if (error > result.error || worst < 0)
      result.error = error, worst = int64_t(i);
    relative.push_back(relativeTo(std::fabs(*sample), off));
    if (launch.matmul)
      result.termsError =
          std::max(result.termsError, relativeTo(sample[1], off));
  }
  std::nth_element(relative.begin(), relative.begin() + relative.size() / 2,
                   relative.end());
  result.median = relative[relative.size() / 2];
  if (!launch.matmul)
    compareMagnitudes(buffer, expected, got, result);
  if (result.median > result.tolerance)
    result.wrong = fmt::format("half of the samples are off by {:.2e} of "
                               "themselves or more, more than {:.2e}",
                               result.median, result.tolerance);
  if (result.error > result.tolerance ||
      result.termsError > result.termsTolerance) {
    int64_t element = elements[size_t(worst)];
    result.wrong = fmt::format(
        "element {} of {} is {:.9g}, not {:.9g}: off by {:.2e} of the largest "
        "element, of at most {:.2e}",
        element, buffer.elements(),
        readElement(got.data(), placeOf(buffer, element), buffer.type),
        values[size_t(expected.first + worst * step)], result.error,
        result.tolerance);
    if (launch.matmul)
      result.wrong += fmt::format("; off by up to {:.2e} of the sum of the "
                                  "terms' magnitudes, of at most {:.2e}",
                                  result.termsError, result.termsTolerance);
  }
  return result;
}

std::string compareRuns(const Buffer &buffer, const Bytes &first,
                        const Bytes &second) {
  Runs runs(buffer);
  int64_t bytes = schema::byteSize(buffer.type), differing = 0, place = -1;
  for (int64_t i = 0; i < runs.count; ++i) {
    int64_t at = runs.begin(i);
    if (std::memcmp(first.data() + at * bytes, second.data() + at * bytes,
                    size_t(runs.length * bytes)) == 0)
      continue;
    for (int64_t j = at; j < at + runs.length; ++j)
      if (std::memcmp(first.data() + j * bytes, second.data() + j * bytes,
                      size_t(bytes)) != 0) {
        ++differing;
        place = place < 0 ? j : place;
      }
  }
  if (differing == 0)
    return "";
  return fmt::format(
      "{} of {} elements have other bits in a second run, or are not written "
      "(the first at {} in memory: {:.9g}, then {:.9g})",
      differing, buffer.elements(), place,
      readElement(first.data(), place, buffer.type),
      readElement(second.data(), place, buffer.type));
}

std::string checkPadding(const Buffer &buffer, const Bytes &memory,
                         char before) {
  Runs runs(buffer);
  int64_t bytes = schema::byteSize(buffer.type), end = 0;
  for (int64_t i = 0; i < runs.count; ++i) {
    int64_t begin = runs.begin(i) * bytes;
    for (int64_t at = end; at < begin; ++at)
      if (memory[size_t(at)] != before)
        return fmt::format("byte {} of a buffer, which is between its rows, is "
                           "written",
                           at);
    end = begin + runs.length * bytes;
  }
  return "";
}

} // namespace ppopt::gpu
