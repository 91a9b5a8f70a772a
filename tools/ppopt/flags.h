//===- flags.h - Commands, their flags and positional arguments -----------===//
//
// A subcommand is a row of a table, and so is each of its flags, with the kind
// of value, the default and the help. Parsing checks all names and values, so a
// command that runs has only values that are valid on their own.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TOOLS_FLAGS_H
#define PPOPT_TOOLS_FLAGS_H

#include "ppopt/Support/NearestNames.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::pp {
struct CompilationSetup;
}

namespace ppopt {

enum class ValueKind {
  Switch,       ///< no value: there or not
  Text,         ///< anything but the empty string
  NameOrFile,   ///< a name, or the path of an input file (isFile)
  Output,       ///< the path of a file that is written; "-": standard output
  OutputFolder, ///< the path of a folder in which files are written
  Count,        ///< a whole number >= 1
  Counts,       ///< such numbers, separated by commas
  Integer,      ///< any whole number
  Probability,  ///< 0 <= p < 1
  Choice,       ///< one of `values`
  Mesh,         ///< axis=size,…, axes from `values`
  Bytes,        ///< 8GiB, 512MB, 4096; or one of `values`
};

/// A value of a Choice, and what it means.
struct ChoiceValue {
  llvm::StringRef name, summary;
};

struct Flag {
  llvm::StringRef name; ///< without dashes
  ValueKind kind;
  llvm::StringRef placeholder; ///< the value's name in --help
  llvm::StringRef fallback;    ///< the default value; "" for none
  llvm::StringRef help;
  /// Choice: the values; Mesh: the axes.
  llvm::ArrayRef<llvm::StringRef> values = {};
  /// Planned values or axes, which this version rejects by name; "*" stands for
  /// every other value.
  llvm::ArrayRef<llvm::StringRef> later = {};
  bool isForTests = false; ///< --help shows it last, under "For testing"
  /// Choice: returns the values, the default first, if only a run knows them.
  std::vector<ChoiceValue> (*listValues)() = nullptr;
  /// Choice: the value that takes a number >= 1, as "stale=4"; empty: none.
  std::string_view numbered = {};
};

/// Returns whether the value of a NameOrFile names a file: it has a dot or a
/// slash.
inline bool isFile(llvm::StringRef value) {
  return value.contains('.') || value.contains('/');
}

class Arguments;

struct Command {
  llvm::StringRef name; ///< "compile", "model gpt"
  llvm::StringRef summary;
  llvm::StringRef positional; ///< e.g. "MODEL"; empty: takes none
  llvm::StringRef description;
  llvm::ArrayRef<llvm::ArrayRef<Flag>> flags; ///< groups, as --help shows them
  int (*run)(const Arguments &arguments,
             const mlir::pp::CompilationSetup &setup);
  bool takesSeveral = false; ///< positional arguments
};

/// The values of a command's flags, including defaults.
class Arguments {
public:
  bool has(llvm::StringRef flag) const { return given.count(flag); }
  /// Returns the value; empty if the flag is absent and has no default.
  llvm::StringRef get(llvm::StringRef flag) const;
  /// Returns the value of a Count or Integer that is given or has a default.
  int64_t getInteger(llvm::StringRef flag) const;
  double getReal(llvm::StringRef flag) const;
  /// Returns the value of a Bytes flag; nullopt if the value is a word.
  std::optional<int64_t> getBytes(llvm::StringRef flag) const;

  std::string positional;               ///< the first
  std::vector<std::string> positionals; ///< all
  /// The command line as typed, to be recorded in outputs.
  std::string line;

private:
  friend std::optional<Arguments> parseArguments(const Command &,
                                                 llvm::ArrayRef<const char *>,
                                                 llvm::raw_ostream &);
  llvm::StringMap<std::string> given;
  llvm::StringMap<std::string> defaults;
};

/// Parses the arguments after the command's name. On an error, writes one line
/// that says what is wrong and what to do instead, and returns nullopt.
std::optional<Arguments> parseArguments(const Command &command,
                                        llvm::ArrayRef<const char *> words,
                                        llvm::raw_ostream &errors);

/// Writes the text of --help.
void printHelp(const Command &command, llvm::raw_ostream &out);

/// The exit status for an invalid command line, also in executables. Other
/// errors exit with 1.
constexpr int kUsage = 2;

/// Writes "ppopt NAME: error: " and the message, and returns 1.
int fail(const Command &command, const llvm::Twine &message);

/// The same for an invalid command line; returns kUsage.
int failUsage(const Command &command, const llvm::Twine &message);

} // namespace ppopt

#endif // PPOPT_TOOLS_FLAGS_H
