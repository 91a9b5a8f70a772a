//===- crc32c_test.cpp - CRC-32C ------------------------------------------===//

#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

using namespace ppopt::train;

namespace {

// RFC 3720, appendix B.4, and the check value of the usual catalogs of CRCs.
TEST(Crc32c, KnownVectors) {
  std::string up, down;
  for (char i = 0; i < 32; ++i) {
    up += i;
    down += char(31 - i);
  }
  EXPECT_EQ(crc32cOf(""), 0u);
  EXPECT_EQ(crc32cOf("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32cOf(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32cOf(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32cOf(up), 0x46DD794Eu);
  EXPECT_EQ(crc32cOf(down), 0x113FDB5Cu);
}

} // namespace
