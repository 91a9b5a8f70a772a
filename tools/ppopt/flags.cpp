//===- flags.cpp - Commands, their flags and positional arguments ---------===//

#include "flags.h"

#include "ppopt/byte_amount.h"
#include "ppopt/shell_word.h"
#include "schema/plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace ppopt;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns the values of a Choice.
static SmallVector<StringRef> getValues(const Flag &flag) {
  if (!flag.listValues)
    return SmallVector<StringRef>(flag.values);
  return map_to_vector(flag.listValues(),
                       [](const ChoiceValue &value) { return value.name; });
}

static StringRef getDefault(const Flag &flag) {
  return flag.listValues ? flag.listValues().front().name : flag.fallback;
}

/// Returns why `value` is not valid for the flag; empty if it is.
static std::string checkMesh(const Flag &flag, StringRef value) {
  SmallVector<StringRef> axes, seen;
  value.split(axes, ',');
  for (StringRef axis : axes) {
    auto [name, size] = axis.split('=');
    int64_t number;
    if (name.empty() || size.empty())
      return ("'" + axis + "' is not AXIS=SIZE, e.g. dp=2").str();
    if (is_contained(flag.later, name))
      return ("this version does not partition over the axis '" + name +
              "'; it takes " + quoteNames(flag.values))
          .str();
    if (!is_contained(flag.values, name))
      return ("unknown axis '" + name + "'" + suggest(name, flag.values)).str();
    if (is_contained(seen, name))
      return ("the axis '" + name + "' is given twice").str();
    if (size.getAsInteger(10, number) || number < 1 || number > 65536)
      return ("the size of '" + name +
              "' must be a whole number from 1 to 65536, not '" + size + "'")
          .str();
    seen.push_back(name);
  }
  return "";
}

static std::string checkValue(const Flag &flag, StringRef value) {
  int64_t number;
  double real;
  switch (flag.kind) {
  case ValueKind::Switch:
    return "";
  case ValueKind::Text:
  case ValueKind::NameOrFile:
  case ValueKind::Output:
  case ValueKind::OutputFolder:
    return value.empty() ? "the value is empty" : "";
  case ValueKind::Count:
    if (value.getAsInteger(10, number) || number < 1)
      return ("must be a whole number of at least 1, not '" + value + "'")
          .str();
    return "";
  case ValueKind::Counts:
    for (StringRef part : split(value, ','))
      if (part.getAsInteger(10, number) || number < 1)
        return ("must be whole numbers of at least 1, separated by commas, "
                "e.g. 64,128,10, not '" +
                value + "'")
            .str();
    return "";
  case ValueKind::Integer:
    if (value.getAsInteger(10, number))
      return ("must be a whole number, not '" + value + "'").str();
    return "";
  case ValueKind::Probability:
    if (value.getAsDouble(real) || !(real >= 0 && real < 1))
      return ("must be a number from 0 to below 1, not '" + value + "'").str();
    return "";
  case ValueKind::Choice: {
    SmallVector<StringRef> values = getValues(flag);
    StringRef numbered(flag.numbered);
    auto [word, number] = value.split('=');
    if (!numbered.empty() && word == numbered) {
      int64_t count = 0;
      if (number.getAsInteger(10, count) || count < 1 ||
          count > schema::mostPlanNumber)
        return ("'" + word + "' takes a number from 1 to " +
                Twine(schema::mostPlanNumber) + ", as in " + word +
                "=4, not '" + number + "'")
            .str();
      return "";
    }
    if (is_contained(values, value))
      return "";
    if (is_contained(flag.later, value) || is_contained(flag.later, "*"))
      return ("this version does not support '" + value + "'; it takes " +
              quoteNames(values))
          .str();
    return ("unknown value '" + value + "'" + suggest(value, values)).str();
  }
  case ValueKind::Mesh:
    return checkMesh(flag, value);
  case ValueKind::Bytes:
    if (!is_contained(flag.values, value) &&
        parseByteAmount(value).value_or(0) < 1)
      return ("must be an amount of bytes, as " + Twine(byteAmountExamples) +
              ", not '" + value + "'")
          .str();
    return "";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

StringRef Arguments::get(StringRef flag) const {
  auto found = given.find(flag);
  if (found == given.end()) {
    found = defaults.find(flag);
    if (found == defaults.end())
      return "";
  }
  return found->second;
}

int64_t Arguments::getInteger(StringRef flag) const {
  int64_t value = 0;
  get(flag).getAsInteger(10, value);
  return value;
}

double Arguments::getReal(StringRef flag) const {
  double value = 0;
  get(flag).getAsDouble(value);
  return value;
}

std::optional<int64_t> Arguments::getBytes(StringRef flag) const {
  return parseByteAmount(get(flag));
}

static const Flag *findFlag(const Command &command, StringRef name) {
  for (ArrayRef<Flag> group : command.flags)
    for (const Flag &flag : group)
      if (flag.name == name)
        return &flag;
  return nullptr;
}

int ppopt::fail(const Command &command, const Twine &message) {
  errs() << "ppopt " << command.name << ": error: " << message << "\n";
  return 1;
}

int ppopt::failUsage(const Command &command, const Twine &message) {
  fail(command, message);
  return kUsage;
}

std::optional<Arguments> ppopt::parseArguments(const Command &command,
                                               ArrayRef<const char *> words,
                                               raw_ostream &errors) {
  auto reject = [&](const Twine &message) {
    errors << "ppopt " << command.name << ": error: " << message << "\n";
    return std::nullopt;
  };

  SmallVector<std::string> spellings;
  Arguments arguments;
  arguments.line = ("ppopt " + command.name).str();
  for (const char *word : words)
    arguments.line += " " + shellWord(word);
  for (ArrayRef<Flag> group : command.flags)
    for (const Flag &flag : group) {
      spellings.push_back((flag.name.size() > 1 ? "--" : "-") +
                          flag.name.str());
      arguments.defaults[flag.name] = getDefault(flag).str();
    }

  SmallVector<StringRef> known(spellings.begin(), spellings.end());

  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    if (word == "-" || !word.starts_with("-")) {
      if (command.positional.empty())
        return reject("'" + word + "' is not expected: flags begin with '--'");
      if (!arguments.positionals.empty() && !command.takesSeveral)
        return reject(command.positional + " is given twice: '" +
                      arguments.positional + "' and '" + word + "'");
      arguments.positionals.push_back(word.str());
      arguments.positional = arguments.positionals.front();
      continue;
    }

    auto [name, value] = word.ltrim('-').split('=');
    bool hasValue = word.contains('=');
    const Flag *flag = findFlag(command, name);
    if (!flag || (name.size() > 1) != word.starts_with("--")) {
      std::string hint = suggest("--" + name.str(), known);
      if (StringRef(hint).starts_with("; it takes"))
        hint = ("; see 'ppopt " + command.name + " --help'").str();
      return reject("unknown flag '" + word.split('=').first + "'" + hint);
    }
    std::string spelled = (name.size() > 1 ? "--" : "-") + name.str();
    if (flag->kind == ValueKind::Switch) {
      if (hasValue)
        return reject(spelled + " takes no value");
    } else if (!hasValue) {
      if (i + 1 == words.size() || StringRef(words[i + 1]).starts_with("--"))
        return reject(spelled + " needs a value: " + spelled + " " +
                      flag->placeholder);
      value = words[++i];
    }
    if (auto before = arguments.given.find(name);
        before != arguments.given.end())
      return reject(
          spelled + " is given twice" +
          (flag->kind == ValueKind::Switch
               ? Twine("")
               : ", as '" + before->second + "' and as '" + value + "'") +
          "; leave one of them out");
    std::string wrong = checkValue(*flag, value);
    if (!wrong.empty())
      return reject(spelled + ": " + wrong);
    arguments.given[name] = value.str();
  }

  if (!command.positional.empty() && arguments.positional.empty())
    return reject("no " + command.positional + " given; see 'ppopt " +
                  command.name + " --help'");
  return arguments;
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

/// Writes `text` at column 26, in lines of at most 80 columns.
static void printWrapped(StringRef text, raw_ostream &out) {
  constexpr unsigned indent = 26, width = 80;
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  unsigned column = indent;
  for (StringRef word : words) {
    if (column > indent && column + 1 + word.size() > width) {
      out << "\n";
      out.indent(indent);
      column = indent;
    }
    if (column > indent) {
      out << ' ';
      ++column;
    }
    out << word;
    column += word.size();
  }
  out << "\n";
}

static void printFlag(const Flag &flag, raw_ostream &out) {
  std::string left =
      ("  " + StringRef(flag.name.size() > 1 ? "--" : "-") + flag.name).str();
  if (flag.kind != ValueKind::Switch)
    left += (" " + flag.placeholder).str();
  out << left;
  if (left.size() > 24) {
    out << "\n";
    left.clear();
  }
  out.indent(26 - left.size());
  std::string help = flag.help.str();
  if (flag.listValues)
    for (auto [i, value] : enumerate(flag.listValues()))
      help +=
          ((i == 0 ? ": " : "; ") + value.name + ", " + value.summary).str();
  else if (flag.kind == ValueKind::Choice && flag.later.empty())
    help += ": " + join(flag.values, ", ");
  else if (flag.kind == ValueKind::Choice)
    help += "; this version supports only " + join(flag.values, ", ");
  if (StringRef value = getDefault(flag); !value.empty())
    help += (" (default " + value + ")").str();
  printWrapped(help, out);
}

void ppopt::printHelp(const Command &command, raw_ostream &out) {
  out << "usage: ppopt " << command.name;
  if (!command.positional.empty())
    out << ' ' << command.positional;
  out << " [flags]\n\n" << command.description << "\n";
  SmallVector<const Flag *> forTests;
  for (ArrayRef<Flag> group : command.flags) {
    for (const Flag &flag : group)
      if (flag.isForTests)
        forTests.push_back(&flag);
      else
        printFlag(flag, out);
    out << "\n";
  }
  if (forTests.empty())
    return;
  out << "For testing:\n";
  for (const Flag *flag : forTests)
    printFlag(*flag, out);
  out << "\n";
}
