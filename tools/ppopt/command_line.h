//===- command_line.h - Commands, and their flags -------------------------===//
//
// A command declares its flags, each bound to a variable whose value is the
// default, and parses. All names and values are checked then, so a command that
// runs has only values that are valid on their own.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TOOLS_COMMAND_LINE_H
#define PPOPT_TOOLS_COMMAND_LINE_H

#include "flags/flags.h"
#include "ppopt/Support/NearestNames.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::pp {
struct CompilationSetup;
}

namespace ppopt {

class CommandLine;
struct FileWord;

struct Command {
  llvm::StringRef name; ///< "compile", "model gpt"
  llvm::StringRef summary;
  llvm::StringRef positional; ///< e.g. "MODEL"; empty: takes none
  llvm::StringRef description;
  /// Declares the flags, parses, and runs. Returns the exit status.
  int (*run)(CommandLine &line, const mlir::pp::CompilationSetup &setup);
  bool takesSeveral = false; ///< positional arguments
};

/// Returns whether a value that is a name or a path names a file: it has a dot
/// or a slash.
inline bool isFile(llvm::StringRef value) {
  return value.contains('.') || value.contains('/');
}

/// The words of a choice.
struct Words {
  std::vector<llvm::StringRef> values;
  /// Planned words, which this version rejects by name.
  std::vector<llvm::StringRef> later = {};
  /// The word that takes a number >= 1, as "stale=4"; empty: none.
  llvm::StringRef numbered = {};
  int64_t *number = nullptr;
};

class CommandLine {
public:
  CommandLine(const Command &command, llvm::ArrayRef<const char *> words);

  // Declarations, in the order of --help. Names have no dashes, `kind` is the
  // value's name in --help.

  /// Ends a group of flags.
  void endGroup() { flags.setGroup(std::to_string(++groups)); }
  /// Flags that --help shows last, under "For testing".
  void beginTests() { flags.setGroup("For testing"); }

  /// Returns what is wrong with a value, empty if nothing.
  using Read = std::function<std::string(llvm::StringRef value)>;
  void value(llvm::StringRef name, llvm::StringRef kind, llvm::StringRef help,
             Read read);
  void toggle(llvm::StringRef name, bool &into, llvm::StringRef help);
  /// Anything but the empty string.
  void text(llvm::StringRef name, llvm::StringRef kind, std::string &into,
            llvm::StringRef help);
  /// A name, or the path of a file that is read (isFile).
  void nameOrFile(llvm::StringRef name, llvm::StringRef kind, std::string &into,
                  llvm::StringRef help);
  /// A name, or the path of a file with flags, which stand in the place of
  /// this one (flags_file.h). They are of the same group as it.
  void nameOrFlags(llvm::StringRef name, llvm::StringRef kind,
                   llvm::StringRef help, Read read);
  /// A file that is written; "-" is standard output.
  void output(llvm::StringRef name, std::string &into, llvm::StringRef help);
  /// A folder in which files of phases are written.
  void phaseFolder(llvm::StringRef name, std::string &into,
                   llvm::StringRef help);
  /// A whole number >= 1.
  void count(llvm::StringRef name, std::optional<int64_t> &into,
             llvm::StringRef help);
  void count(llvm::StringRef name, int64_t &into, llvm::StringRef help);
  /// A number greater than `above`, at most 10^8.
  void number(llvm::StringRef name, llvm::StringRef kind,
              std::optional<double> &into, double above, llvm::StringRef help);
  void choice(llvm::StringRef name, llvm::StringRef kind, Words words,
              llvm::StringRef fallback, llvm::StringRef help,
              std::function<void(llvm::StringRef word)> set);
  void choice(llvm::StringRef name, llvm::StringRef kind, Words words,
              std::string &into, llvm::StringRef help);
  /// 8GiB, 512MB, 4096.
  void bytes(llvm::StringRef name, int64_t &into, llvm::StringRef help);
  /// An amount of bytes, or "unlimited".
  void bytes(llvm::StringRef name, std::optional<int64_t> &into,
             std::optional<int64_t> unlimited, llvm::StringRef help);

  /// Parses the words, and checks the paths. Returns the exit status where the
  /// command does not run: after --help, --version, or an error.
  std::optional<int> parse();

  bool has(llvm::StringRef name) const;
  /// Returns an error, as "--mesh: …", after the line of the file with flags in
  /// which the flag is, if it is in one.
  std::string locate(const std::string &wrong) const;
  /// The command line as typed, with the flags of files in their place, to be
  /// recorded in outputs.
  std::string getLine() const;

  const Command &command;
  std::string positional;               ///< the first
  std::vector<std::string> positionals; ///< all

private:
  void printHelp(llvm::raw_ostream &out) const;
  std::string checkPositionals();
  std::string expandFlags();
  std::string addFlags(llvm::StringRef path, llvm::ArrayRef<FileWord> inFile,
                       std::vector<std::string> &expanded);
  std::string findPathConflict() const;

  Flags flags;
  std::vector<std::string> words;
  /// The flags of output files, with their values.
  std::vector<std::pair<std::string, std::string *>> outputs;
  std::string ofFlags; ///< the flag that takes a file with flags, or empty
  llvm::StringMap<std::string> places; ///< "FILE:LINE: " of flags of files
  int groups = 0;
};

/// Returns what is wrong with a value of a choice, empty if nothing.
std::string checkWord(llvm::StringRef value, const Words &words);

/// Returns "HELP (default VALUE)".
std::string withDefault(llvm::StringRef help, llvm::StringRef value);

/// Returns why a command with one input and one output must not run; empty if
/// it may.
std::string findPathConflict(llvm::StringRef input, llvm::StringRef output);

void printVersion(llvm::raw_ostream &out);

/// The exit status for an invalid command line, also in executables. Other
/// errors exit with 1.
constexpr int kUsage = 2;

/// Writes "ppopt NAME: error: " and the message, and returns 1.
int fail(const Command &command, const llvm::Twine &message);

/// The same for an invalid command line; returns kUsage.
int failUsage(const Command &command, const llvm::Twine &message);

} // namespace ppopt

#endif // PPOPT_TOOLS_COMMAND_LINE_H
