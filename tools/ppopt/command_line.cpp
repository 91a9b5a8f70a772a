//===- command_line.cpp - Commands, and their flags -----------------------===//

#include "command_line.h"

#include "flags_file.h"

#include "files/output_target.h"
#include "files/path_uses.h"
#include "ppopt/Config.h"
#include "ppopt/Support/ReadFile.h"
#include "ppopt/byte_amount.h"
#include "ppopt/shell_word.h"
#include "schema/plan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace ppopt;

int ppopt::fail(const Command &command, const Twine &message) {
  errs() << "ppopt " << command.name << ": error: " << message << "\n";
  return 1;
}

int ppopt::failUsage(const Command &command, const Twine &message) {
  fail(command, message);
  return kUsage;
}

void ppopt::printVersion(raw_ostream &out) {
  out << "ppopt " PPOPT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}

std::string ppopt::withDefault(StringRef help, StringRef value) {
  return value.empty() ? help.str() : (help + " (default " + value + ")").str();
}

static std::string dashed(StringRef name) {
  return (name.size() > 1 ? "--" : "-") + name.str();
}

/// What is wrong with an unknown flag, or where the flags are.
static std::string hint(const Command &command, StringRef flag,
                        ArrayRef<std::string> known) {
  SmallVector<StringRef> names(known.begin(), known.end());
  std::string question = askForNearest(flag, names);
  return question.empty() ? ("; see 'ppopt " + command.name + " --help'").str()
                          : question;
}

CommandLine::CommandLine(const Command &command, ArrayRef<const char *> words)
    : command(command),
      flags([&command](const std::string &flag,
                       const std::vector<std::string> &known) {
        return hint(command, flag, known);
      }),
      words(words.begin(), words.end()) {
  endGroup();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void CommandLine::value(StringRef name, StringRef kind, StringRef help,
                        Read read) {
  flags.value(dashed(name), kind.str(), help.str(),
              [read = std::move(read)](const std::string &value) {
                return read(value);
              });
}

void CommandLine::toggle(StringRef name, bool &into, StringRef help) {
  flags.toggle(dashed(name), into, true, help.str());
}

void CommandLine::text(StringRef name, StringRef kind, std::string &into,
                       StringRef help) {
  value(name, kind, withDefault(help, into), [&into](StringRef value) {
    into = value.str();
    return value.empty() ? "the value is empty" : "";
  });
}

void CommandLine::nameOrFile(StringRef name, StringRef kind, std::string &into,
                             StringRef help) {
  flags.onePath(dashed(name), into, withDefault(help, into), kind.str(),
                [flag = dashed(name)](PathUses &uses, const std::string &path) {
                  if (isFile(path))
                    uses.reads(flag, path);
                });
}

void CommandLine::nameOrFlags(StringRef name, StringRef kind, StringRef help,
                              Read read) {
  ofFlags = dashed(name);
  value(name, kind, help, std::move(read));
}

void CommandLine::output(StringRef name, std::string &into, StringRef help) {
  outputs.emplace_back(dashed(name), &into);
  flags.onePath(dashed(name), into, withDefault(help, into), "FILE",
                [](PathUses &, const std::string &) {}); // with its default
}

/// Returns whether --dump-phases writes this file in its folder:
/// "0-model.mlir".
static bool isPhaseFile(std::string_view path) {
  StringRef name(path);
  name.consume_front("generator-");
  return !name.take_while(isDigit).empty() && name.ends_with(".mlir") &&
         !name.contains('/');
}

void CommandLine::phaseFolder(StringRef name, std::string &into,
                              StringRef help) {
  flags.outputFolder(dashed(name), into, help.str(), "0-model.mlir",
                     isPhaseFile);
}

static std::string readCount(StringRef value, int64_t &into) {
  if (!value.getAsInteger(10, into) && into >= 1)
    return "";
  return ("must be a whole number of at least 1, not '" + value + "'").str();
}

void CommandLine::count(StringRef name, std::optional<int64_t> &into,
                        StringRef help) {
  value(name, "N", help,
        [&into](StringRef value) { return readCount(value, into.emplace()); });
}

void CommandLine::count(StringRef name, int64_t &into, StringRef help) {
  value(name, "N", withDefault(help, into ? std::to_string(into) : ""),
        [&into](StringRef value) { return readCount(value, into); });
}

void CommandLine::number(StringRef name, StringRef kind,
                         std::optional<double> &into, double above,
                         StringRef help) {
  value(name, kind, help, [&into, above](StringRef value) -> std::string {
    constexpr double most = 1e8;
    double &number = into.emplace();
    if (!value.getAsDouble(number) && number > above && number <= most)
      return "";
    return formatv("must be a number greater than {0:f0} and at most {1:f0}, "
                   "not '{2}'",
                   above, most, value)
        .str();
  });
}

std::string ppopt::checkWord(StringRef value, const Words &words) {
  auto [word, number] = value.split('=');
  if (!words.numbered.empty() && word == words.numbered) {
    int64_t &count = *words.number;
    if (!number.getAsInteger(10, count) && count >= 1 &&
        count <= schema::mostPlanNumber)
      return "";
    return ("'" + word + "' takes a number from 1 to " +
            Twine(schema::mostPlanNumber) + ", as in " + word + "=4, not '" +
            number + "'")
        .str();
  }
  if (is_contained(words.values, value))
    return "";
  if (is_contained(words.later, value))
    return ("this version does not support '" + value + "'; it takes " +
            quoteNames(words.values))
        .str();
  return ("unknown value '" + value + "'" + suggest(value, words.values)).str();
}

void CommandLine::choice(StringRef name, StringRef kind, Words words,
                         StringRef fallback, StringRef help,
                         std::function<void(StringRef word)> set) {
  std::string text =
      (help + (words.later.empty() ? ": " : "; this version supports only ") +
       join(words.values, ", "))
          .str();
  value(name, kind, withDefault(text, fallback),
        [words = std::move(words), set = std::move(set)](StringRef value) {
          std::string wrong = checkWord(value, words);
          if (wrong.empty())
            set(value.split('=').first);
          return wrong;
        });
}

void CommandLine::choice(StringRef name, StringRef kind, Words words,
                         std::string &into, StringRef help) {
  choice(name, kind, std::move(words), into, help,
         [&into](StringRef word) { into = word.str(); });
}

static std::string readBytes(StringRef value, int64_t &into) {
  into = parseByteAmount(value).value_or(0);
  if (into >= 1)
    return "";
  return ("must be an amount of bytes, as " + Twine(byteAmountExamples) +
          ", not '" + value + "'")
      .str();
}

void CommandLine::bytes(StringRef name, int64_t &into, StringRef help) {
  value(name, "BYTES", help,
        [&into](StringRef value) { return readBytes(value, into); });
}

void CommandLine::bytes(StringRef name, std::optional<int64_t> &into,
                        std::optional<int64_t> unlimited, StringRef help) {
  value(name, "BYTES", help,
        [&into, unlimited](StringRef value) -> std::string {
          if (value != "unlimited")
            return readBytes(value, into.emplace());
          into = unlimited;
          return "";
        });
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

std::string CommandLine::getLine() const {
  std::string line = ("ppopt " + command.name).str();
  for (const std::string &word : words)
    line += " " + shellWord(word);
  return line;
}

bool CommandLine::has(StringRef name) const { return flags.has(dashed(name)); }

std::string CommandLine::checkPositionals() {
  positionals = flags.others();
  if (!positionals.empty())
    positional = positionals.front();
  if (command.positional.empty() && !positional.empty())
    return "'" + positional + "' is not expected: flags begin with '--'";
  if (positionals.size() > 1 && !command.takesSeveral)
    return (command.positional + " is given twice: '" + positional + "' and '" +
            positionals[1] + "'")
        .str();
  if (!command.positional.empty() && positional.empty())
    return ("no " + command.positional + " given; see 'ppopt " + command.name +
            " --help'")
        .str();
  return "";
}

/// Puts the flags of a file in the place of the flag that names it. Returns an
/// error.
std::string CommandLine::expandFlags() {
  if (ofFlags.empty())
    return "";
  std::vector<std::string> expanded;
  for (size_t i = 0; i < words.size(); ++i) {
    auto [flag, path] = StringRef(words[i]).split('=');
    bool hasOwnWord = flag == words[i];
    if (hasOwnWord && i + 1 < words.size())
      path = words[i + 1];
    if (flag != ofFlags || !isFile(path)) {
      expanded.push_back(words[i]);
      continue;
    }
    auto file = readTextFile(path);
    if (!file)
      return ofFlags + ": cannot read '" + path.str() +
             "': " + toString(file.takeError());
    std::vector<FileWord> inFile;
    if (std::string wrong = splitWords((*file)->getBuffer(), inFile);
        !wrong.empty())
      return (path + ":" + wrong).str();
    if (inFile.empty())
      return ofFlags + ": '" + path.str() + "' has no flags";
    if (std::string wrong = addFlags(path, inFile, expanded); !wrong.empty())
      return wrong;
    i += hasOwnWord;
  }
  words = std::move(expanded);
  return "";
}

/// Adds the flags of a file to the words. Returns an error.
std::string CommandLine::addFlags(StringRef path, ArrayRef<FileWord> inFile,
                                  std::vector<std::string> &expanded) {
  StringMap<Flags::Text> texts;
  std::vector<std::string> known;
  for (Flags::Text &text : flags.texts()) {
    known.push_back(text.flag);
    texts[text.flag] = std::move(text);
  }
  StringMap<unsigned> lines;
  for (; !inFile.empty(); inFile = inFile.drop_front()) {
    const auto &[word, line] = inFile.front();
    std::string where = (path + ":" + Twine(line) + ": ").str();
    StringRef name = StringRef(word).split('=').first;
    if (!name.starts_with("-"))
      return where + "'" + word + "' is no flag: flags begin with '--'";
    auto text = texts.find(name);
    if (text == texts.end())
      return where + "unknown flag '" + name.str() + "'" +
             hint(command, name, known);
    if (text->second.group != texts[ofFlags].group || name == ofFlags)
      return where + name.str() +
             " is no flag of a plan; give it on the command line";
    if (any_of(words,
               [&](StringRef own) { return own.split('=').first == name; }))
      return (name + " is given, and is in '" + path +
              "' too; leave it out of one of them")
          .str();
    if (auto [before, isFirst] = lines.try_emplace(name, line); !isFirst)
      return where + name.str() + " is in line " +
             std::to_string(before->second) + ", too; leave one of them out";
    places[name] = where;
    expanded.push_back(word);
    if (text->second.kind.empty() || name != word)
      continue;
    inFile = inFile.drop_front();
    if (inFile.empty() || inFile.front().line != line)
      return where + name.str() + " needs a value, in the same line";
    expanded.push_back(inFile.front().text);
  }
  return "";
}

std::string CommandLine::locate(const std::string &wrong) const {
  return places.lookup(StringRef(wrong).split(':').first) + wrong;
}

std::string CommandLine::findPathConflict() const {
  PathUses uses;
  for (const std::string &path : positionals)
    if (path == "-")
      uses.readsInput();
    else
      uses.reads(command.positional.split('.').first.str(), path);
  flags.addUses(uses);
  bool writesStream = false;
  for (const auto &[flag, path] : outputs)
    if (!path->empty() && *path != "-") {
      uses.writes(flag, *path);
      writesStream |= followLinks(*path).isDescriptor;
    }
  if (!writesStream) // unless an output is /dev/stdout
    uses.writesOutput();
  static int anchor;
  uses.reads("this program", sys::fs::getMainExecutable("ppopt", &anchor));
  return uses.findConflict();
}

std::optional<int> CommandLine::parse() {
  for (StringRef word : words)
    if (word == "--help" || word == "-h") {
      printHelp(outs());
      return 0;
    } else if (word == "--version") {
      printVersion(outs());
      return 0;
    }
  std::string wrong = expandFlags();
  if (wrong.empty())
    wrong = flags.tryParse(words);
  if (wrong.empty())
    wrong = checkPositionals();
  if (wrong.empty())
    wrong = findPathConflict();
  if (!wrong.empty())
    return failUsage(command, locate(wrong));
  for (const auto &[flag, path] : outputs)
    if (!path->empty() && *path != "-")
      if (std::string why = whyNotWritable(*path, Writing::Whole); !why.empty())
        return fail(command, flag + " " + *path + ": " + why);
  return std::nullopt;
}

std::string ppopt::findPathConflict(StringRef input, StringRef output) {
  PathUses uses;
  if (input == "-")
    uses.readsInput();
  else
    uses.reads("FILE", input.str());
  if (output != "-")
    uses.writes("-o", output.str());
  return uses.findConflict();
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

/// Writes `text` at column 26, in lines of at most 80 columns.
static void printWrapped(StringRef text, raw_ostream &out) {
  constexpr unsigned indent = 26, width = 80;
  unsigned column = indent;
  for (StringRef word : split(text, ' ')) {
    if (word.empty())
      continue;
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

void CommandLine::printHelp(raw_ostream &out) const {
  out << "usage: ppopt " << command.name;
  if (!command.positional.empty())
    out << ' ' << command.positional;
  out << " [flags]\n\n" << command.description << "\n";
  std::string group;
  for (const Flags::Text &flag : flags.texts()) {
    if (!group.empty() && flag.group != group)
      out << "\n";
    if (flag.group != group && flag.group == "For testing")
      out << "For testing:\n";
    group = flag.group;
    std::string left = "  " + flag.flag;
    if (!flag.kind.empty())
      left += " " + flag.kind;
    out << left;
    if (left.size() > 24) {
      out << "\n";
      left.clear();
    }
    out.indent(26 - left.size());
    printWrapped(flag.help, out);
  }
  out << "\n";
}
