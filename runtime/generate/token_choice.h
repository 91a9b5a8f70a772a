//===- token_choice.h - Which token follows -------------------------------===//

#ifndef PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H
#define PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H

#include <cstdint>
#include <vector>

namespace ppopt::train {

struct ChoiceSettings {
  double temperature = 1; ///< 0: always the token of the highest score
  int64_t topK = 0;       ///< among so many of the highest; 0: all
  int64_t seed = 0;
};

/// Draws tokens by their scores (logits): token t with probability
/// proportional to exp(score(t) / temperature). Of equal scores the lower token
/// counts as higher.
class TokenChoice {
public:
  explicit TokenChoice(const ChoiceSettings &settings) : settings_(settings) {}

  /// The token at place `index` of a text, from the scores of all tokens. The
  /// same index draws the same random number (docs/random-numbers.md). Throws
  /// Error where scores are not finite.
  int32_t choose(const std::vector<double> &scores, uint64_t index);

private:
  void takeCandidates(const std::vector<double> &scores);

  ChoiceSettings settings_;
  std::vector<int32_t> candidates_; ///< in their order as tokens
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H
