//===- add_elements_test.cpp - Sums of elements of every type -------------===//

#include "comm/add_elements.h"

#include "inputs.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ppopt::comm;
using namespace ppopt::comm::test;

TEST(AddElements, AddsEveryTypeAtEveryLengthAndNoFurther) {
  for (ElementType type : allTypes)
    for (int64_t elements : {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000}) {
      auto sum = makeBuffer(0, elements + 1, type, exactValue);
      auto other = makeBuffer(1, elements + 1, type, exactValue);
      addElements(sum.data(), other.data(), elements, type);
      for (int64_t i = 0; i < elements; ++i)
        ASSERT_EQ(get(sum, i, type), exactValue(0, i) + exactValue(1, i))
            << nameOf(type) << " element " << i << " of " << elements;
      EXPECT_EQ(get(sum, elements, type), exactValue(0, elements));
    }
}

static uint16_t addBf16(uint16_t a, uint16_t b) {
  // Long enough that the vector loop does it, not its remainder.
  std::vector<uint16_t> sum(64, a);
  std::vector<uint16_t> other(64, b);
  addElements(sum.data(), other.data(), 64, ElementType::BF16);
  for (uint16_t element : sum)
    EXPECT_EQ(element, sum[0]);
  return sum[0];
}

TEST(AddElements, RoundsBf16ToNearestEven) {
  // bf16 has 8 significant bits: above 256 the next number is 258.
  EXPECT_EQ(fromBf16(addBf16(toBf16(256), toBf16(1))), 256);
  EXPECT_EQ(fromBf16(addBf16(toBf16(258), toBf16(1))), 260);
  EXPECT_EQ(fromBf16(addBf16(toBf16(256), toBf16(1.5))), 258);
}

TEST(AddElements, KeepsInfinityAndNanInBf16) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(fromBf16(addBf16(toBf16(infinity), toBf16(1))), infinity);
  EXPECT_EQ(fromBf16(addBf16(0x7f7f, 0x7f7f)), infinity);
  EXPECT_TRUE(std::isnan(fromBf16(addBf16(0x7f80, 0xff80))));
  for (uint16_t nan : {0x7fff, 0xffff, 0x7f81, 0x7fc0})
    for (uint16_t other : {0x7fff, 0xffff, 0x7f80, 0x3f80, 0})
      EXPECT_TRUE(std::isnan(fromBf16(addBf16(nan, other)))) << nan;
}
