//===- initialize_test.cpp - Initial values of tiles ----------------------===//
//
// Whatever axes cut a parameter, an element has the bits that it has in the
// whole parameter. The reference draws the whole and takes the elements whose
// coordinates, by the definition of a cut, are those of the rank.
//
//===----------------------------------------------------------------------===//

#include "executor/initialize.h"

#include "comm/thread_transport.h"
#include "executor/programs.h"
#include "executor/rank.h"
#include "tasks.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace ppopt;
using namespace ppopt::runtime;
using geometry::DimensionCut;
using geometry::Tile;
namespace ls = least_squares;

namespace {

struct CutTensor {
  std::vector<int64_t> shape;
  std::vector<std::vector<DimensionCut>> cuts;
};

const CutTensor cutTensors[] = {
    {{33, 31}, {{}, {{31, 31, 17}}}}, // runs of one element
    {{33, 31}, {{{3, 33, 1}}, {}}},   // one run, of odd length
    {{7, 90}, {{}, {{2, 30, 1}}}},    // heads inside q, k and v
    {{8, 6, 35}, {{{2, 8, 1}, {2, 2, 0}}, {{3, 6, 2}}, {{5, 35, 4}}}},
    {{1200}, {{{2, 600, 1}}}}, // runs longer than a draw
    {{9}, {{{3, 3, 2}}}},
    {{1023}, {{}}},
};

std::vector<char> draw(const Initializer &init, ElementType type,
                       const Tile &tile, int threads) {
  std::vector<char> bytes(tile.elements() * byteSize(type));
  initializeValues(init, type, "w", 5, tile, bytes.data(), threads);
  return bytes;
}

/// Returns the bytes of the elements that belong to a tile.
std::vector<char> take(const std::vector<char> &whole, int64_t size,
                       const CutTensor &tensor) {
  std::vector<char> taken;
  for (size_t element = 0; element * size < whole.size(); ++element) {
    bool belongs = true;
    int64_t rest = element;
    for (size_t dim = tensor.shape.size(); dim-- > 0;) {
      int64_t i = rest % tensor.shape[dim];
      rest /= tensor.shape[dim];
      for (const DimensionCut &cut : tensor.cuts[dim])
        belongs = belongs &&
                  i % cut.period / (cut.period / cut.parts) == cut.coordinate;
    }
    if (belongs)
      taken.insert(taken.end(), whole.begin() + element * size,
                   whole.begin() + (element + 1) * size);
  }
  return taken;
}

using Case = std::pair<InitialValues, ElementType>;

class InitializeTile : public testing::TestWithParam<Case> {};

TEST_P(InitializeTile, HasTheBitsOfTheWhole) {
  auto [kind, type] = GetParam();
  Initializer init{kind};
  init.low = -0.3, init.high = 0.7, init.mean = 0.1, init.std = 0.02;
  for (const CutTensor &tensor : cutTensors) {
    Tile all(schema::elementCount(tensor.shape));
    std::vector<char> expected =
        take(draw(init, type, all, 1), byteSize(type), tensor);
    for (int threads : {1, 2, 3})
      EXPECT_EQ(draw(init, type, Tile(tensor.shape, tensor.cuts), threads),
                expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, InitializeTile,
    testing::Values(Case(InitialValues::normal, ElementType::f32),
                    Case(InitialValues::normal, ElementType::f64),
                    Case(InitialValues::normal, ElementType::bf16),
                    Case(InitialValues::trunc_normal, ElementType::f64),
                    Case(InitialValues::uniform, ElementType::f32),
                    Case(InitialValues::uniform, ElementType::f64),
                    Case(InitialValues::uniform, ElementType::bf16),
                    Case(InitialValues::ones, ElementType::f32),
                    Case(InitialValues::ones, ElementType::bf16),
                    Case(InitialValues::ones, ElementType::i1),
                    Case(InitialValues::zeros, ElementType::i64)),
    [](const auto &info) {
      return std::string(schema::spell(info.param.first)) + "_" +
             schema::spell(info.param.second);
    });

TEST(InitializeValues, GivesTheSameInParts) {
  Initializer init{InitialValues::normal, 0, 0, 0, 1};
  for (const CutTensor &tensor : cutTensors) {
    Tile tile(tensor.shape, tensor.cuts);
    std::vector<char> whole = draw(init, ElementType::f32, tile, 1);
    std::vector<char> parts(whole.size());
    for (int64_t begin = 0; begin < tile.elements(); begin += 301)
      initializeValues(init, ElementType::f32, "w", 5, tile, begin,
                       std::min<int64_t>(begin + 301, tile.elements()),
                       parts.data() + begin * 4, 2);
    EXPECT_EQ(whole, parts);
  }
}

// Two ranks have the even and the odd elements of one parameter.
TEST(InitializeParameters, TakeTheTileOfTheRank) {
  nlohmann::json document = ls::program(2, 1);
  document["parameters"][0]["tile"] = nlohmann::json::parse(
      R"({"global_shape": [6],
          "cuts": [[{"axis": "dp", "parts": 2, "period": 2}]]})");
  Program program = readProgram(document.dump());
  const Parameter &w = program.parameters[0];
  double whole[6];
  initializeValues(w.init, w.type, w.name, 3, Tile(6), whole, 1);
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, ls::tasks, &transport, {});
    initializeParameters(rank, 3);
    for (int i = 0; i < 3; ++i) {
      double value;
      std::memcpy(&value, hostAt(rank, ls::weights) + i * sizeof value,
                  sizeof value);
      EXPECT_EQ(value, whole[2 * i + rank.index]);
    }
  });
}

} // namespace
