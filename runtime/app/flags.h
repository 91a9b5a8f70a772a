//===- flags.h - Flags whose values are checked as they are read ----------===//

#ifndef PPOPT_RUNTIME_APP_FLAGS_H
#define PPOPT_RUNTIME_APP_FLAGS_H

#include "files/output_target.h"
#include "files/path_uses.h"
#include "options/options.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::train {

// Parsers of flag values. Each throws UsageError that names the flag, the value
// and what is wrong with it.

double parseNumber(const std::string &flag, const std::string &text);
/// Returns an integer of at least `least`.
int64_t parseInteger(const std::string &flag, const std::string &text,
                     int64_t least);
/// Returns an amount of bytes as parseByteAmount (ppopt/byte_amount.h) reads
/// it.
int64_t parseBytes(const std::string &flag, const std::string &text);
/// Returns the index of `text` in `choices`.
size_t parseChoice(const std::string &flag, const std::string &text,
                   const std::vector<std::string> &choices);

/// Adds flags to a command line.
class Flags {
public:
  explicit Flags(CLI::App &app) : app_(app) {}

  /// A path that is read. If it is a folder, `takes` selects its files.
  CLI::Option *path(const std::string &flag, std::string &into,
                    const std::string &help, const char *kind = "FILE",
                    InFolder takes = nullptr);
  /// One or more paths that are read. The flag may be repeated.
  CLI::Option *paths(const std::string &flag, std::vector<std::string> &into,
                     const std::string &help, InFolder takes);
  /// A file that is written.
  CLI::Option *output(const std::string &flag, std::string &into,
                      const std::string &help, Writing writing);
  /// A folder in which files are written; `takes` recognizes their names.
  CLI::Option *outputFolder(const std::string &flag, std::string &into,
                            const std::string &help, const std::string &example,
                            InFolder takes);
  CLI::Option *integer(const std::string &flag, int64_t &into, int64_t least,
                       const std::string &help);
  /// A number in [least, below).
  CLI::Option *number(const std::string &flag, double &into, double least,
                      double below, const std::string &help);
  CLI::Option *value(const std::string &flag, const std::string &kind,
                     const std::string &help,
                     const std::function<void(const std::string &)> &read);
  CLI::Option *toggle(const std::string &flag, bool &into, bool to,
                      const std::string &help);
  /// A flag with an optional value; the default is the first choice.
  void optionalChoice(const std::string &flag,
                      const std::vector<std::string> &choices,
                      const std::string &help,
                      const std::function<void(size_t)> &read);

  /// Throws UsageError, before any value is parsed, for a flag that lacks its
  /// value, has a value that it does not take, or has two values.
  void checkSpelling(const std::vector<std::string> &arguments) const;

  void setGroup(const std::string &group) { group_ = group; }

  /// Returns the flags of the parsed command line with their values as given;
  /// the value of a path flag is empty.
  std::map<std::string, std::string> given() const;

  /// Returns the paths that the given flags read and write.
  PathUses pathUses() const;

  /// Returns the files that the given flags write.
  std::vector<OutputPath> outputs() const;

  static double inRange(const std::string &flag, double value,
                        const std::string &text, double least, double below);

private:
  /// Records the use of a path.
  using Tell = std::function<void(PathUses &uses, const std::string &path)>;

  CLI::Option *onePath(const std::string &flag, std::string &into,
                       const std::string &help, const char *kind, Tell tell);

  CLI::App &app_;
  std::string group_;
  std::vector<std::pair<CLI::Option *, Tell>> paths_;
  std::vector<std::pair<CLI::Option *, Writing>> outputs_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_FLAGS_H
