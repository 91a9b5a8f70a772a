//===- token_choice.cpp - Samples the next token --------------------------===//

#include "generate/token_choice.h"

#include "base/error.h"
#include "executor/philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ppopt::train {
namespace {

using runtime::Error;

/// Returns a random number in [0, 1), a multiple of 2^-53.
double uniform(int64_t seed, uint64_t index) {
  static const uint64_t stream = runtime::streamOf("--generate");
  runtime::PhiloxBlock block = runtime::randomBlock(seed, stream, index, 0);
  uint64_t bits = uint64_t(block[1]) << 32 | block[0];
  return std::ldexp(double(bits >> 11), -53);
}

} // namespace

void TokenChoice::takeCandidates(const std::vector<double> &scores) {
  candidates_.resize(scores.size());
  std::iota(candidates_.begin(), candidates_.end(), 0);
  auto count = static_cast<size_t>(settings_.topK);
  if (count == 0 || count >= scores.size())
    return;
  std::nth_element(candidates_.begin(), candidates_.begin() + count,
                   candidates_.end(), [&](int32_t a, int32_t b) {
                     return scores[a] != scores[b] ? scores[a] > scores[b]
                                                   : a < b;
                   });
  candidates_.resize(count);
  std::sort(candidates_.begin(), candidates_.end());
}

int32_t TokenChoice::choose(const std::vector<double> &scores, uint64_t index) {
  if (!std::all_of(scores.begin(), scores.end(),
                   [](double score) { return std::isfinite(score); }))
    throw Error("the scores of token {} are not finite: the parameters are not "
                "those of a model that was trained well",
                index);
  auto best = std::max_element(scores.begin(), scores.end());
  if (settings_.temperature == 0)
    return static_cast<int32_t>(best - scores.begin());

  takeCandidates(scores);
  auto weigh = [&](int32_t token) {
    return std::exp((scores[token] - *best) / settings_.temperature);
  };
  double total = 0;
  for (int32_t token : candidates_)
    total += weigh(token);
  double left = uniform(settings_.seed, index) * total;
  int32_t chosen = candidates_.front();
  for (int32_t token : candidates_) {
    double weight = weigh(token);
    if (weight == 0)
      continue;
    chosen = token; // the last one if rounding leaves a remainder
    if (left < weight)
      break;
    left -= weight;
  }
  return chosen;
}

} // namespace ppopt::train
