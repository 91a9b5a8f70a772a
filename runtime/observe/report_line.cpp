//===- report_line.cpp - A line that reports numbers ----------------------===//

#include "observe/report_line.h"

#include "ppopt/utf8.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>

namespace ppopt::train {

/// JSON has no NaN.
static void appendValue(Line &line, double value, const char *format) {
  if (std::isfinite(value))
    append(line, fmt::runtime(format), value);
  else
    append(line, "null");
}

void appendNumber(Line &line, std::string_view key, double value,
                  const char *format) {
  append(line, ",\"{}\":", key);
  appendValue(line, value, format);
}

void appendHex(Line &line, std::string_view key, double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%a", value);
  append(line, ",\"{}_hex\":\"{}\"", key, text);
}

void appendCount(Line &line, double count) {
  if (count >= 1e6)
    append(line, "{:.2f}M", count / 1e6);
  else if (count >= 1e3)
    append(line, "{:.1f}k", count / 1e3);
  else
    append(line, "{:.0f}", count);
}

void appendClock(Line &line, double seconds) {
  int64_t whole = std::llround(seconds);
  append(line, "{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string jsonText(const std::string &text) {
  return nlohmann::json(escapeNonUtf8(text)).dump();
}

void showNumbers(Line &line, const std::vector<Reported> &numbers) {
  for (const Reported &number : numbers)
    if (number.shown && number.isKnown) {
      append(line, "{} ", number.name);
      append(line, fmt::runtime(number.shown), number.value);
      append(line, " | ");
    }
}

void logNumbers(Line &line, const std::vector<Reported> &numbers) {
  for (const Reported &number : numbers) {
    if (number.isMetric)
      continue;
    appendNumber(line, number.name, number.value, number.logged);
    if (number.hasBits)
      appendHex(line, number.name, number.value);
  }
  bool isFirst = true;
  for (const Reported &number : numbers) {
    if (!number.isMetric || !number.isKnown)
      continue;
    append(line, isFirst ? ",\"metrics\":{{" : ",");
    append(line, "{}:", jsonText(number.name));
    appendValue(line, number.value, number.logged);
    isFirst = false;
  }
  if (!isFirst)
    append(line, "}}");
}

} // namespace ppopt::train
