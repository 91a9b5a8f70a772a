//===- token_choice_test.cpp - Which token follows ------------------------===//

#include "generate/token_choice.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace ppopt::train;

namespace {

const std::vector<double> scores = {0.5, -1, 2, 0, 1.25, -3};

std::vector<int> countChoices(const ChoiceSettings &settings, int draws) {
  TokenChoice choice(settings);
  std::vector<int> counts(scores.size());
  for (int i = 0; i < draws; ++i)
    ++counts[choice.choose(scores, i)];
  return counts;
}

/// Within five standard deviations of softmax(scores / temperature) over
/// `allowed`.
void expectDistribution(const ChoiceSettings &settings,
                        const std::vector<int> &allowed) {
  constexpr int draws = 40000;
  std::vector<int> counts = countChoices(settings, draws);
  std::vector<double> weights(scores.size());
  double total = 0;
  for (int token : allowed)
    total += weights[token] = std::exp(scores[token] / settings.temperature);
  for (size_t token = 0; token < scores.size(); ++token) {
    double p = weights[token] / total;
    EXPECT_NEAR(counts[token], draws * p, 5 * std::sqrt(draws * p * (1 - p)))
        << "token " << token;
  }
}

TEST(TokenChoice, DrawsByTheSoftmaxOfTheScores) {
  expectDistribution({1, 0, 0}, {0, 1, 2, 3, 4, 5});
  expectDistribution({0.5, 0, 1}, {0, 1, 2, 3, 4, 5});
  expectDistribution({10, 0, 2}, {0, 1, 2, 3, 4, 5});
}

TEST(TokenChoice, DrawsAmongTheLikeliest) {
  expectDistribution({1, 3, 0}, {2, 4, 0});
  expectDistribution({2, 5, 0}, {0, 1, 2, 3, 4});
  expectDistribution({1, 6, 0}, {0, 1, 2, 3, 4, 5});
  expectDistribution({1, 100, 0}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(countChoices({1, 1, 0}, 100)[2], 100);
}

TEST(TokenChoice, TakesTheLikeliestAtZero) {
  EXPECT_EQ(countChoices({0, 0, 0}, 100)[2], 100);
  EXPECT_EQ(countChoices({1e-300, 0, 0}, 100)[2], 100);
}

TEST(TokenChoice, TakesTheLowerOfEqualScores) {
  TokenChoice greedy({0, 0, 0}), two({1, 2, 0});
  std::vector<double> equal = {1, 3, 2, 3, 3};
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(greedy.choose(equal, i), 1);
    int32_t chosen = two.choose(equal, i);
    EXPECT_TRUE(chosen == 1 || chosen == 3) << chosen;
  }
}

TEST(TokenChoice, DependsOnSeedAndPlaceAlone) {
  TokenChoice one({1, 0, 7}), again({1, 0, 7}), other({1, 0, 8});
  std::vector<int32_t> forwards, others, backwards(100);
  for (int i = 0; i < 100; ++i) {
    forwards.push_back(one.choose(scores, i));
    others.push_back(other.choose(scores, i));
    backwards[99 - i] = again.choose(scores, 99 - i);
  }
  EXPECT_EQ(forwards, backwards);
  EXPECT_NE(forwards, others);
}

TEST(TokenChoice, RefusesScoresThatAreNotFinite) {
  TokenChoice greedy({0, 0, 0});
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(greedy.choose({0, bad}, 12),
                 "the scores of token 12 are not finite");
}

} // namespace
