//===- flags.cpp - Flags whose values are checked as they are read --------===//

#include "app/flags.h"

#include "base/nearest_name.h"
#include "base/usage_error.h"
#include "ppopt/byte_amount.h"

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

CLI::Option *Flags::onePath(const std::string &flag, std::string &into,
                            const std::string &help, const char *kind,
                            Tell tell) {
  auto read = [&into, flag](const std::string &text) {
    if (text.empty())
      throw UsageError("{}: the path is empty", flag);
    into = text;
  };
  CLI::Option *option = value(flag, kind, help, read);
  paths_.emplace_back(option, std::move(tell));
  return option;
}

CLI::Option *Flags::path(const std::string &flag, std::string &into,
                         const std::string &help, const char *kind,
                         InFolder takes) {
  return onePath(flag, into, help, kind,
                 [=](PathUses &uses, const std::string &path) {
                   uses.reads(flag, path, takes);
                 });
}

CLI::Option *Flags::output(const std::string &flag, std::string &into,
                           const std::string &help, Writing writing) {
  CLI::Option *option = onePath(flag, into, help, "FILE",
                                [=](PathUses &uses, const std::string &path) {
                                  uses.writes(flag, path);
                                });
  outputs_.emplace_back(option, writing);
  return option;
}

CLI::Option *Flags::outputFolder(const std::string &flag, std::string &into,
                                 const std::string &help,
                                 const std::string &example, InFolder takes) {
  return onePath(flag, into, help, "FOLDER",
                 [=](PathUses &uses, const std::string &path) {
                   uses.writesFolder(flag, path, example, takes);
                 });
}

CLI::Option *Flags::paths(const std::string &flag,
                          std::vector<std::string> &into,
                          const std::string &help, InFolder takes) {
  auto read = [&into, flag](const std::vector<std::string> &given) {
    for (const std::string &path : given)
      if (path.empty())
        throw UsageError("{}: the path is empty", flag);
    into = given;
  };
  CLI::Option *option =
      app_.add_option_function<std::vector<std::string>>(flag, read, help)
          ->expected(1, 1 << 20)
          ->allow_extra_args(false) // otherwise "[a]" is the list of "a"
          ->type_name("PATH...")
          ->group(group_);
  paths_.emplace_back(option, [=](PathUses &uses, const std::string &path) {
    uses.reads(flag, path, takes);
  });
  return option;
}

CLI::Option *Flags::integer(const std::string &flag, int64_t &into,
                            int64_t least, const std::string &help) {
  return value(flag, "N", help, [&into, flag, least](const std::string &text) {
    into = parseInteger(flag, text, least);
  });
}

CLI::Option *Flags::number(const std::string &flag, double &into, double least,
                           double below, const std::string &help) {
  return value(flag, "X", help, [=, &into](const std::string &text) {
    into = inRange(flag, parseNumber(flag, text), text, least, below);
  });
}

CLI::Option *
Flags::value(const std::string &flag, const std::string &kind,
             const std::string &help,
             const std::function<void(const std::string &)> &read) {
  return app_.add_option_function<std::string>(flag, read, help)
      ->type_name(kind)
      ->group(group_);
}

CLI::Option *Flags::toggle(const std::string &flag, bool &into, bool to,
                           const std::string &help) {
  return app_.add_flag_callback(
                 flag, [&into, to] { into = to; }, help)
      ->group(group_);
}

void Flags::optionalChoice(const std::string &flag,
                           const std::vector<std::string> &choices,
                           const std::string &help,
                           const std::function<void(size_t)> &read) {
  value(flag, fmt::format("[{}]", fmt::join(choices, "|")), help,
        [=](const std::string &text) {
          read(text.empty() ? 0 : parseChoice(flag, text, choices));
        })
      ->expected(0, 1);
}

void Flags::checkSpelling(const std::vector<std::string> &arguments) const {
  auto find = [&](const std::string &word) {
    std::string name = word.substr(0, word.find('='));
    return word[0] == '-' ? app_.get_option_no_throw(name) : nullptr;
  };
  std::map<std::string, std::string> values;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].empty())
      continue;
    const CLI::Option *flag = find(arguments[i]);
    if (!flag)
      continue;
    size_t equals = arguments[i].find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = arguments[i].substr(0, equals), value;
    if (hasValue)
      value = arguments[i].substr(equals + 1);
    if (flag->get_items_expected_max() == 0 && hasValue)
      throw UsageError("{}: takes no value", name);
    bool hasNext = i + 1 < arguments.size();
    if (flag->get_items_expected_min() > 0 && !hasValue) {
      if (!hasNext || (!arguments[i + 1].empty() && find(arguments[i + 1])))
        throw UsageError("{}: needs a value: {} {}", name, name,
                         flag->get_type_name());
      value = arguments[++i];
    } else if (flag->get_items_expected_max() > 0 && !hasValue && hasNext &&
               arguments[i + 1].rfind('-', 0) != 0) {
      value = arguments[++i];
    }
    auto [before, isFirst] = values.emplace(flag->get_name(), value);
    if (!isFirst && flag->get_items_expected_max() == 1)
      throw UsageError(
          "{}: given twice{}; leave one of them out", name,
          before->second.empty() && value.empty()
              ? ""
              : fmt::format(", as '{}' and as '{}'", before->second, value));
  }
}

std::map<std::string, std::string> Flags::given() const {
  std::map<std::string, std::string> given;
  for (CLI::Option *option : app_.get_options())
    if (option->count() > 0)
      given[option->get_name()] =
          fmt::format("{}", fmt::join(option->results(), " "));
  for (const auto &[option, tell] : paths_)
    if (option->count() > 0)
      given[option->get_name()] = "";
  return given;
}

PathUses Flags::pathUses() const {
  PathUses uses;
  for (const auto &[option, tell] : paths_)
    for (const std::string &path : option->results())
      tell(uses, path);
  return uses;
}

std::vector<OutputPath> Flags::outputs() const {
  std::vector<OutputPath> outputs;
  for (const auto &[option, writing] : outputs_)
    for (const std::string &path : option->results())
      outputs.push_back({option->get_name(), path, writing});
  return outputs;
}

double Flags::inRange(const std::string &flag, double value,
                      const std::string &text, double least, double below) {
  if (value < least)
    throw UsageError("{} {}: must be at least {}", flag, text, least);
  if (value >= below)
    throw UsageError("{} {}: must be less than {}", flag, text, below);
  return value;
}

} // namespace ppopt::train
