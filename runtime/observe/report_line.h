//===- report_line.h - A line that reports numbers --------------*- C++ -*-===//

#ifndef PPOPT_RUNTIME_OBSERVE_REPORT_LINE_H
#define PPOPT_RUNTIME_OBSERVE_REPORT_LINE_H

#include "observe/reported.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// Text on the stack. Only a line with the reason of a skipped step can be
/// longer, and then allocates.
using Line = fmt::memory_buffer;

template <typename... Args>
void append(Line &line, fmt::format_string<Args...> format, Args &&...args) {
  fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
}

/// Appends ,"key":number, by default one that parses to the same double; null
/// if it is not finite.
void appendNumber(Line &line, std::string_view key, double value,
                  const char *format = "{:.17g}");

/// Appends a double as ,"key_hex" in the format of printf's %a, which is exact.
void appendHex(Line &line, std::string_view key, double value);

/// Appends a count as "49.7k" or "1.25M".
void appendCount(Line &line, double count);

/// Appends "1:02:03".
void appendClock(Line &line, double seconds);

/// Returns a text with names of files as a JSON string.
std::string jsonText(const std::string &text);

/// Appends "loss 3.1415 | norm 1.234 | ".
void showNumbers(Line &line, const std::vector<Reported> &numbers);

/// Appends ,"loss":3.1415,"loss_hex":"0x1.9…p+1","metrics":{"accuracy":0.914}
/// with those metrics that are known.
void logNumbers(Line &line, const std::vector<Reported> &numbers);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPORT_LINE_H
