//===- crc32c.cpp - CRC-32C -----------------------------------------------===//

#include "base/crc32c.h"

#include <array>

namespace ppopt::train {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82F63B78;

constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ (rest & 1 ? kReversedPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = makeTable();

} // namespace

uint32_t crc32cOf(std::string_view bytes) {
  uint32_t rest = ~uint32_t(0);
  for (unsigned char byte : bytes)
    rest = rest >> 8 ^ kTable[(rest ^ byte) & 0xFF];
  return ~rest;
}

} // namespace ppopt::train
