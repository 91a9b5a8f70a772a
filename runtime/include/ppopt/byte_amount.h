//===- byte_amount.h - Amounts of bytes on command lines ------------------===//
//
// Shared by the flags of `ppopt` and those of the executables that it builds.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_BYTE_AMOUNT_H
#define PPOPT_BYTE_AMOUNT_H

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ppopt {

/// The examples that messages give.
constexpr const char *byteAmountExamples = "8GiB, 512MB or 4096";

/// Parses a decimal number followed directly by a unit: "8GiB", "1.5GB",
/// "4096", "100B". A fraction of a byte is dropped. Returns nullopt for any
/// other text and for 2^63 bytes or more.
inline std::optional<int64_t> parseByteAmount(std::string_view text) {
  constexpr std::pair<std::string_view, int64_t> units[] = {
      {"", 1},
      {"B", 1},
      {"KiB", int64_t(1) << 10},
      {"MiB", int64_t(1) << 20},
      {"GiB", int64_t(1) << 30},
      {"TiB", int64_t(1) << 40},
      {"KB", 1000},
      {"MB", 1000000},
      {"GB", 1000000000},
      {"TB", 1000000000000}};
  size_t end = text.find_first_not_of("0123456789.");
  std::string_view digits = text.substr(0, end),
                   unit = text.substr(digits.size());
  double number = 0;
  auto [last, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || last != digits.data() + digits.size())
    return std::nullopt;
  for (auto [name, bytes] : units)
    if (name == unit && number * double(bytes) < 0x1p63)
      return int64_t(number * double(bytes));
  return std::nullopt;
}

/// Formats with three significant digits: "1.50 MiB", "72 B".
inline std::string spellByteAmount(int64_t bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  unsigned unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit)
    amount /= 1024;
  char text[40];
  int digits = unit == 0 || amount >= 100 ? 0 : amount >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", digits, amount, units[unit]);
  return text;
}

} // namespace ppopt

#endif // PPOPT_BYTE_AMOUNT_H
