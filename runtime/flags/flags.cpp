//===- flags.cpp - Flags of a command line, parsed by CLI11 ---------------===//

#include "flags/flags.h"

#include "base/usage_error.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

namespace ppopt {

using train::UsageError;

Flags::Flags(Hint hint)
    : app_(std::make_unique<CLI::App>()), hint_(std::move(hint)) {
  app_->allow_extras();
  app_->set_help_flag();
}
Flags::~Flags() = default;

/// Returns the name of a flag in messages, without a short one after it.
static std::string nameOf(const std::string &flag) {
  return flag.substr(0, flag.find(','));
}

static CLI::Option *addValue(CLI::App &app, const std::string &flag,
                             const std::string &kind, const std::string &help,
                             const std::string &group, Flags::Read read) {
  auto check = [name = nameOf(flag),
                read = std::move(read)](const std::string &text) {
    if (std::string wrong = read(text); !wrong.empty())
      throw UsageError("{}: {}", name, wrong);
  };
  return app.add_option_function<std::string>(flag, check, help)
      ->type_name(kind)
      ->group(group);
}

void Flags::value(const std::string &flag, const std::string &kind,
                  const std::string &help, Read read) {
  addValue(*app_, flag, kind, help, group_, std::move(read));
}

void Flags::optionalValue(const std::string &flag, const std::string &kind,
                          const std::string &help, Read read) {
  addValue(*app_, flag, kind, help, group_, std::move(read))->expected(0, 1);
}

void Flags::toggle(const std::string &flag, bool &into, bool to,
                   const std::string &help) {
  app_->add_flag_callback(
          flag, [&into, to] { into = to; }, help)
      ->group(group_);
}

void Flags::onePath(const std::string &flag, std::string &into,
                    const std::string &help, const std::string &kind,
                    Tell tell) {
  auto read = [&into](const std::string &text) -> std::string {
    into = text;
    return text.empty() ? "the path is empty" : "";
  };
  paths_.emplace_back(addValue(*app_, flag, kind, help, group_, read),
                      std::move(tell));
}

void Flags::path(const std::string &flag, std::string &into,
                 const std::string &help, const std::string &kind,
                 InFolder takes) {
  onePath(flag, into, help, kind, [=](PathUses &uses, const std::string &path) {
    uses.reads(flag, path, takes);
  });
}

void Flags::output(const std::string &flag, std::string &into,
                   const std::string &help, Writing writing) {
  onePath(flag, into, help, "FILE",
          [=](PathUses &uses, const std::string &path) {
            uses.writes(nameOf(flag), path);
          });
  outputs_.emplace_back(paths_.back().first, writing);
}

void Flags::outputFolder(const std::string &flag, std::string &into,
                         const std::string &help, const std::string &example,
                         InFolder takes) {
  onePath(flag, into, help, "FOLDER",
          [=](PathUses &uses, const std::string &path) {
            uses.writesFolder(flag, path, example, takes);
          });
}

/// Returns the paths that a word is.
static std::vector<std::string> pathsIn(const std::string &word,
                                        Commas commas) {
  std::error_code error;
  if (commas == Commas::Belong || std::filesystem::exists(word, error))
    return {word};
  std::vector<std::string> paths(1);
  for (char letter : word)
    if (letter == ',')
      paths.emplace_back();
    else
      paths.back() += letter;
  return paths;
}

void Flags::paths(const std::string &flag, std::vector<std::string> &into,
                  const std::string &help, InFolder takes, Commas commas) {
  auto read = [&into, flag, commas](const std::vector<std::string> &given) {
    into.clear();
    for (const std::string &word : given)
      for (const std::string &path : pathsIn(word, commas)) {
        if (path.empty())
          throw UsageError("{}: the path is empty", flag);
        into.push_back(path);
      }
  };
  CLI::Option *option =
      app_->add_option_function<std::vector<std::string>>(flag, read, help)
          ->expected(1, 1 << 20)
          ->allow_extra_args(false) // otherwise "[a]" is the list of "a"
          ->type_name("PATH...")
          ->group(group_);
  paths_.emplace_back(option, [=](PathUses &uses, const std::string &word) {
    for (const std::string &path : pathsIn(word, commas))
      uses.reads(flag, path, takes);
  });
}

void Flags::setHelp(const std::string &help, const std::string &version) {
  app_->set_help_flag("--help,-h", help);
  app_->set_version_flag("--version", "", version);
}

/// Throws UsageError, before any value is parsed, for a flag that lacks its
/// value, has a value that it does not take, or has two values. A repeated
/// switch says the same again. Returns the words with values apart from their
/// flags.
std::vector<std::string>
Flags::checkSpelling(const std::vector<std::string> &words) const {
  auto find = [&](const std::string &word) {
    return word[0] == '-'
               ? app_->get_option_no_throw(word.substr(0, word.find('=')))
               : nullptr;
  };
  std::map<std::string, std::string> values;
  std::vector<std::string> apart;
  for (size_t i = 0; i < words.size(); ++i) {
    const CLI::Option *flag = words[i].empty() ? nullptr : find(words[i]);
    if (!flag) {
      apart.push_back(words[i]);
      continue;
    }
    size_t equals = words[i].find('=');
    bool hasValue = equals != std::string::npos;
    std::string name = words[i].substr(0, equals), value;
    if (hasValue)
      value = words[i].substr(equals + 1);
    if (flag->get_items_expected_max() == 0 && hasValue)
      throw UsageError("{}: takes no value", name);
    bool hasNext = i + 1 < words.size();
    if (flag->get_items_expected_min() > 0 && !hasValue) {
      if (!hasNext || (!words[i + 1].empty() && find(words[i + 1])))
        throw UsageError("{}: needs a value: {} {}", name, name,
                         flag->get_type_name());
      value = words[++i];
      hasValue = true;
    } else if (flag->get_items_expected_max() > 0 && !hasValue && hasNext &&
               words[i + 1].rfind('-', 0) != 0) {
      value = words[++i];
      hasValue = true;
    }
    apart.push_back(name);
    if (hasValue)
      apart.push_back(value);
    auto [before, isFirst] = values.emplace(flag->get_name(), value);
    if (!isFirst && flag->get_items_expected_max() == 1)
      throw UsageError(
          "{}: given twice{}; leave one of them out", name,
          before->second.empty() && value.empty()
              ? ""
              : fmt::format(", as '{}' and as '{}'", before->second, value));
  }
  return apart;
}

Flags::Outcome Flags::parse(const std::vector<std::string> &words) {
  std::vector<std::string> apart = checkSpelling(words);
  // The parser expects the words in reverse order.
  std::vector<std::string> reversed(apart.rbegin(), apart.rend());
  try {
    app_->parse(reversed);
  } catch (const CLI::CallForHelp &) {
    return Outcome::Help;
  } catch (const CLI::CallForVersion &) {
    return Outcome::Version;
  } catch (const CLI::ParseError &error) {
    throw UsageError("{}", error.what());
  }
  others_ = app_->remaining();
  for (const std::string &word : others_)
    if (word.size() > 1 && word[0] == '-') {
      std::vector<std::string> known;
      for (const CLI::Option *option : app_->get_options())
        known.push_back(option->get_name());
      std::string name = word.substr(0, word.find('='));
      throw UsageError("unknown flag '{}'{}", name, hint_(name, known));
    }
  return Outcome::Run;
}

std::string Flags::tryParse(const std::vector<std::string> &words) {
  try {
    parse(words);
    return "";
  } catch (const UsageError &error) {
    return error.what();
  }
}

bool Flags::has(const std::string &flag) const { return app_->count(flag) > 0; }

std::map<std::string, std::string> Flags::given() const {
  std::map<std::string, std::string> given;
  for (CLI::Option *option : app_->get_options())
    if (option->count() > 0)
      given[option->get_name()] =
          fmt::format("{}", fmt::join(option->results(), " "));
  for (const auto &[option, tell] : paths_)
    if (option->count() > 0)
      given[option->get_name()] = "";
  return given;
}

void Flags::addUses(PathUses &uses) const {
  for (const auto &[option, tell] : paths_)
    for (const std::string &path : option->results())
      tell(uses, path);
}

std::vector<OutputPath> Flags::outputs() const {
  std::vector<OutputPath> outputs;
  for (const auto &[option, writing] : outputs_)
    for (const std::string &path : option->results())
      outputs.push_back({option->get_name(), path, writing});
  return outputs;
}

std::vector<Flags::Text> Flags::texts() const {
  std::vector<Text> texts;
  for (const CLI::Option *option : std::as_const(*app_).get_options())
    texts.push_back(
        {option->get_group(), option->get_name(),
         option->get_items_expected_max() == 0 ? "" : option->get_type_name(),
         option->get_description()});
  return texts;
}

std::string Flags::help(const std::string &description,
                        const std::string &program,
                        const std::string &footer) const {
  app_->description(description);
  app_->name(program);
  app_->footer(footer);
  return app_->help();
}

} // namespace ppopt
