//===- flags.cpp - Values of an executable's flags ------------------------===//

#include "app/flags.h"

#include "base/usage_error.h"
#include "ppopt/byte_amount.h"
#include "ppopt/nearest_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace ppopt::train {

double parseNumber(const std::string &flag, const std::string &text) {
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw UsageError("{} {}: too large or too small for a double", flag, text);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError("{} {}: not a number", flag, text);
  if (!std::isfinite(value))
    throw UsageError("{} {}: must be finite", flag, text);
  return value;
}

int64_t parseInteger(const std::string &flag, const std::string &text,
                     int64_t least) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw UsageError("{} {}: too large", flag, text);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError("{} {}: not a whole number", flag, text);
  if (value < least)
    throw UsageError("{} {}: must be at least {}", flag, text, least);
  return value;
}

size_t parseChoice(const std::string &flag, const std::string &text,
                   const std::vector<std::string> &choices) {
  auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end())
    return static_cast<size_t>(found - choices.begin());
  std::string nearest = nearestName(text, choices);
  throw UsageError(
      "{} {}: must be {}{}", flag, text, fmt::join(choices, " or "),
      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

int64_t parseBytes(const std::string &flag, const std::string &text) {
  if (std::optional<int64_t> bytes = parseByteAmount(text))
    return *bytes;
  throw UsageError("{} {}: must be an amount of bytes, as {}", flag, text,
                   byteAmountExamples);
}

void TrainFlags::value(const std::string &flag, const std::string &kind,
                       const std::string &help,
                       const std::function<void(const std::string &)> &read) {
  Flags::value(flag, kind, help, [read](const std::string &text) {
    read(text);
    return std::string();
  });
}

void TrainFlags::integer(const std::string &flag, int64_t &into, int64_t least,
                         const std::string &help) {
  value(flag, "N", help, [&into, flag, least](const std::string &text) {
    into = parseInteger(flag, text, least);
  });
}

void TrainFlags::number(const std::string &flag, double &into, double least,
                        double below, const std::string &help) {
  value(flag, "X", help, [=, &into](const std::string &text) {
    into = inRange(flag, parseNumber(flag, text), text, least, below);
  });
}

void TrainFlags::optionalChoice(const std::string &flag,
                                const std::vector<std::string> &choices,
                                const std::string &help,
                                const std::function<void(size_t)> &read) {
  optionalValue(flag, fmt::format("[{}]", fmt::join(choices, "|")), help,
                [=](const std::string &text) {
                  read(text.empty() ? 0 : parseChoice(flag, text, choices));
                  return std::string();
                });
}

double TrainFlags::inRange(const std::string &flag, double value,
                           const std::string &text, double least,
                           double below) {
  if (value < least)
    throw UsageError("{} {}: must be at least {}", flag, text, least);
  if (value >= below)
    throw UsageError("{} {}: must be less than {}", flag, text, below);
  return value;
}

} // namespace ppopt::train
