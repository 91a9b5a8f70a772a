//===- token_choice.h - Samples the next token ----------------------------===//

#ifndef PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H
#define PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H

#include <cstdint>
#include <vector>

namespace ppopt::train {

struct ChoiceSettings {
  double temperature = 1; ///< 0: always the token with the highest score
  int64_t topK = 0;       ///< number of highest scores to draw from; 0: all
  int64_t seed = 0;
};

/// Draws tokens by their scores (logits): token t has a probability
/// proportional to exp(score(t) / temperature). Among equal scores, the lower
/// token ranks first.
class TokenChoice {
public:
  explicit TokenChoice(const ChoiceSettings &settings) : settings_(settings) {}

  /// Returns the token at index `index` of a text, given the scores of all
  /// tokens. The same index draws the same random number
  /// (docs/random-numbers.md). Throws Error if a score is not finite.
  int32_t choose(const std::vector<double> &scores, uint64_t index);

private:
  void takeCandidates(const std::vector<double> &scores);

  ChoiceSettings settings_;
  std::vector<int32_t> candidates_; ///< ascending
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_TOKEN_CHOICE_H
