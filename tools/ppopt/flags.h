//===- flags.h - Commands, their flags and positional arguments -----------===//
//
// A subcommand is a row of a table: its flags are rows too, with the kind of
// value, the default and the help. Parsing checks names and values completely,
// so that a command that runs has only values that make sense on their own.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TOOLS_FLAGS_H
#define PPOPT_TOOLS_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace ppopt {

enum class ValueKind {
  Switch,       ///< no value: there or not
  Text,         ///< anything but the empty string
  Schedule,     ///< a name, or the path of a file that is read (isScheduleFile)
  Output,       ///< the path of a file that is written; "-": standard output
  OutputFolder, ///< the path of a folder in which files are written
  Count,        ///< a whole number >= 1
  Counts,       ///< such numbers with commas between
  Integer,      ///< any whole number
  Probability,  ///< 0 <= p < 1
  Choice,       ///< one of `values`
  Mesh,         ///< axis=size,…, axes from `values`
  Bytes,        ///< 8GiB, 512MB, 4096; or one of `values`
};

struct Flag {
  llvm::StringRef name; ///< without dashes
  ValueKind kind;
  llvm::StringRef placeholder; ///< what --help shows for the value
  llvm::StringRef fallback;    ///< value where the flag is absent; "" for none
  llvm::StringRef help;
  /// Choice: the values; Mesh: the axes.
  llvm::ArrayRef<llvm::StringRef> values = {};
  /// Values, or axes, of the design that this version refuses by name; "*"
  /// stands for every other value.
  llvm::ArrayRef<llvm::StringRef> later = {};
  bool isForTests = false; ///< --help shows it last, under "For testing"
};

/// Whether --schedule names a file: with a dot or a slash.
inline bool isScheduleFile(llvm::StringRef schedule) {
  return schedule.contains('.') || schedule.contains('/');
}

class Arguments;

struct Command {
  llvm::StringRef name; ///< "compile", "model gpt"
  llvm::StringRef summary;
  llvm::StringRef positional; ///< e.g. "MODEL"; empty: takes none
  llvm::StringRef description;
  llvm::ArrayRef<llvm::ArrayRef<Flag>> flags; ///< groups, as --help shows them
  int (*run)(const Arguments &arguments);
  bool takesSeveral = false; ///< positional arguments
};

/// The values of a command's flags, defaults filled in.
class Arguments {
public:
  bool has(llvm::StringRef flag) const { return given.count(flag); }
  /// Empty if absent and without a default.
  llvm::StringRef get(llvm::StringRef flag) const;
  /// Of a Count or Integer that is given or has a default.
  int64_t getInteger(llvm::StringRef flag) const;
  double getReal(llvm::StringRef flag) const;
  /// Of Bytes; nothing where the value is a word.
  std::optional<int64_t> getBytes(llvm::StringRef flag) const;

  std::string positional;               ///< the first
  std::vector<std::string> positionals; ///< all
  /// The command line as typed, for records of it.
  std::string line;

private:
  friend std::optional<Arguments> parseArguments(const Command &,
                                                 llvm::ArrayRef<const char *>,
                                                 llvm::raw_ostream &);
  llvm::StringMap<std::string> given;
  llvm::StringMap<std::string> defaults;
};

/// Parses what follows the command's name. On an error, writes one line that
/// says what is wrong and what to do instead, and returns nothing.
std::optional<Arguments> parseArguments(const Command &command,
                                        llvm::ArrayRef<const char *> words,
                                        llvm::raw_ostream &errors);

/// Writes what --help shows.
void printHelp(const Command &command, llvm::raw_ostream &out);

/// "; did you mean 'x'?" with the nearest of `known`, or the list of them where
/// none is near.
std::string suggest(llvm::StringRef word,
                    llvm::ArrayRef<llvm::StringRef> known);

/// The exit status of a command line that cannot be meant, as executables have
/// it. Whatever else goes wrong is 1.
constexpr int kUsage = 2;

/// Writes "ppopt NAME: error: " and the message, and returns 1.
int fail(const Command &command, const llvm::Twine &message);

/// The same for a command line that cannot be meant; returns kUsage.
int failUsage(const Command &command, const llvm::Twine &message);

} // namespace ppopt

#endif // PPOPT_TOOLS_FLAGS_H
