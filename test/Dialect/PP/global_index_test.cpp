//===- global_index_test.cpp - Global indices of the elements of tiles ----===//
//
// The scalar code of an op whose index and key are constants folds to a
// constant.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace mlir;
using namespace mlir::pp;

namespace {

struct Cut {
  int64_t parts, period;
};

class GlobalIndex : public testing::Test {
protected:
  GlobalIndex() : builder(&context), loc(builder.getUnknownLoc()) {
    context.loadDialect<PPDialect, arith::ArithDialect>();
    builder.setInsertionPointToStart(&block);
  }

  /// Returns an iota on the local part of `size` elements that `cuts` leave.
  IotaOp makeIota(int64_t size, ArrayRef<Cut> cuts) {
    SmallVector<TileCutAttr> attrs;
    int64_t local = size;
    for (auto [i, cut] : llvm::enumerate(cuts)) {
      attrs.push_back(TileCutAttr::get(
          &context, 0, builder.getStringAttr("axis" + std::to_string(i)),
          indexOf(KeyElement::Microbatch) + i, cut.parts, cut.period));
      local /= cut.parts;
    }
    Value key = ConstantOp::create(
        builder, loc, DenseElementsAttr::get(getKeyType(&context), int64_t(0)));
    return IotaOp::create(
        builder, loc, RankedTensorType::get({local}, builder.getI64Type()), key,
        /*dim=*/0, TileAttr::get(&context, attrs, {size}));
  }

  /// Returns the element of `iota` on the rank with these coordinates.
  int64_t evaluate(IotaOp iota, int64_t index, ArrayRef<int64_t> coordinates) {
    auto read = [&](unsigned, ValueRange at) -> Value {
      int64_t element = getConstant(at[0]) - indexOf(KeyElement::Microbatch);
      EXPECT_TRUE(element >= 0 && element < int64_t(coordinates.size()));
      return arith::ConstantIntOp::create(builder, loc, coordinates[element],
                                          64);
    };
    Value at = arith::ConstantIndexOp::create(builder, loc, index);
    return getConstant(iota.emitElement(builder, at, read));
  }

  static int64_t getConstant(Value value) {
    APInt constant;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&constant)));
    return constant.getSExtValue();
  }

  /// Checks that each rank has, in order, the elements whose coordinates are
  /// its own, and that the ranks together have each element once.
  void check(int64_t size, ArrayRef<Cut> cuts) {
    IotaOp iota = makeIota(size, cuts);
    ASSERT_TRUE(succeeded(verify(iota)));
    std::set<int64_t> seen;
    SmallVector<int64_t> coordinates(cuts.size(), 0);
    do {
      int64_t last = -1;
      for (int64_t i = 0; i < iota.getType().getDimSize(0); ++i) {
        int64_t global = evaluate(iota, i, coordinates);
        EXPECT_GT(global, last);
        last = global;
        EXPECT_TRUE(seen.insert(global).second) << global;
        for (auto [cut, coordinate] : llvm::zip(cuts, coordinates))
          EXPECT_EQ(global % cut.period / (cut.period / cut.parts), coordinate);
      }
    } while (advance(coordinates, cuts));
    EXPECT_EQ(int64_t(seen.size()), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }

  static bool advance(MutableArrayRef<int64_t> coordinates,
                      ArrayRef<Cut> cuts) {
    for (auto [coordinate, cut] : llvm::zip(coordinates, cuts)) {
      if (++coordinate < cut.parts)
        return true;
      coordinate = 0;
    }
    return false;
  }

  MLIRContext context;
  Block block;
  OpBuilder builder;
  Location loc;
};

TEST_F(GlobalIndex, RowsOfRanksAndMicrobatches) {
  check(24, {{2, 24}, {3, 12}});
  EXPECT_EQ(evaluate(makeIota(24, {{2, 24}, {3, 12}}), 1, {1, 2}), 12 + 8 + 1);
}

TEST_F(GlobalIndex, HeadsInsideEachPartOfAFusedProjection) {
  check(24, {{2, 8}});
  EXPECT_EQ(evaluate(makeIota(24, {{2, 8}}), 5, {1}), 8 + 4 + 1);
}

TEST_F(GlobalIndex, RandomCuts) {
  std::mt19937 random(1);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 100; ++i) {
    SmallVector<Cut> cuts; // the innermost first
    int64_t size = draw(1, 3);
    for (int64_t count = draw(1, 4); count > 0; --count) {
      int64_t parts = draw(2, 3);
      size *= parts;
      cuts.push_back({parts, size});
      size *= draw(1, 3);
    }
    check(size, llvm::to_vector(llvm::reverse(cuts)));
  }
}

/// A dimension that merges others is cut by the cuts of all its loops.
TEST_F(GlobalIndex, CutsOfLoopsBecomeThoseOfADimension) {
  auto typeOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI64Type());
  };
  Value x = ConstantOp::create(
      builder, loc, DenseElementsAttr::get(typeOf({8, 6}), int64_t(0)));
  Localization localization(ReshapeOp::create(builder, loc, typeOf({48}), x));
  StringAttr dp = builder.getStringAttr("dp"), tp = builder.getStringAttr("tp"),
             mb = builder.getStringAttr("mb");
  localization.loops[0] = {{dp, 4, 2, 8}, {mb, 3, 2, 4}};
  localization.loops[1] = {{tp, 5, 3, 6}};
  AxisCuts cuts = localization.getCuts(localization.space.results[0][0]);
  ASSERT_EQ(cuts.size(), 3u);
  auto expect = [](const AxisCut &cut, StringAttr axis, int64_t at,
                   int64_t parts, int64_t period) {
    EXPECT_EQ(cut.axis, axis);
    EXPECT_EQ(cut.at, at);
    EXPECT_EQ(cut.parts, parts);
    EXPECT_EQ(cut.period, period);
  };
  expect(cuts[0], dp, 4, 2, 48);
  expect(cuts[1], mb, 3, 2, 24);
  expect(cuts[2], tp, 5, 3, 6);
  EXPECT_EQ(countParts(cuts), 12);
}

} // namespace
