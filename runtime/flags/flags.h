//===- flags.h - Flags of a command line, parsed by CLI11 -----------------===//
//
// For executables and for ppopt, whose code has no exceptions: it does not see
// CLI11's headers, and calls tryParse.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_FLAGS_FLAGS_H
#define PPOPT_RUNTIME_FLAGS_FLAGS_H

#include "files/output_target.h"
#include "files/path_uses.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace ppopt {

/// An output file that a flag names.
struct OutputPath {
  std::string flag, path;
  Writing writing;
};

/// Declares flags, each bound to a variable, and parses a command line. Flags
/// are spelled with their dashes.
/// Whether a comma separates paths. It never does so in a path that exists.
enum class Commas { Belong, Separate };

class Flags {
public:
  /// Reads a value. Returns what is wrong with it, or throws UsageError.
  using Read = std::function<std::string(const std::string &text)>;
  /// Records the use of a path.
  using Tell = std::function<void(PathUses &uses, const std::string &path)>;
  /// Returns what an unknown flag may have meant, and what lists the flags;
  /// `known` are those that there are.
  using Hint = std::function<std::string(
      const std::string &flag, const std::vector<std::string> &known)>;
  /// A flag as --help shows it; `kind` is its value's name, empty for none.
  struct Text {
    std::string group, flag, kind, help;
  };
  enum class Outcome { Run, Help, Version };

  explicit Flags(Hint hint);
  ~Flags();
  Flags(const Flags &) = delete;
  Flags &operator=(const Flags &) = delete;

  void setGroup(const std::string &group) { group_ = group; }

  void value(const std::string &flag, const std::string &kind,
             const std::string &help, Read read);
  /// A flag whose value may be left out, which is an empty one.
  void optionalValue(const std::string &flag, const std::string &kind,
                     const std::string &help, Read read);
  void toggle(const std::string &flag, bool &into, bool to,
              const std::string &help);
  void onePath(const std::string &flag, std::string &into,
               const std::string &help, const std::string &kind, Tell tell);
  /// A path that is read. If it is a folder, `takes` selects its files.
  void path(const std::string &flag, std::string &into, const std::string &help,
            const std::string &kind = "FILE", InFolder takes = nullptr);
  /// One or more paths that are read. The flag may be repeated.
  void paths(const std::string &flag, std::vector<std::string> &into,
             const std::string &help, InFolder takes,
             Commas commas = Commas::Belong);
  /// A file that is written. `flag` may have a short name too: "--output,-o".
  void output(const std::string &flag, std::string &into,
              const std::string &help, Writing writing);
  /// A folder in which files are written; `takes` recognizes their names.
  void outputFolder(const std::string &flag, std::string &into,
                    const std::string &help, const std::string &example,
                    InFolder takes);
  /// The flags that print a text and exit; they are no part of getTexts.
  void setHelp(const std::string &help, const std::string &version);

  /// Parses the words after the program's name, and sets the variables. Throws
  /// UsageError.
  Outcome parse(const std::vector<std::string> &words);
  /// The same for callers without exceptions, which know Help and Version
  /// beforehand. Returns what is wrong, empty if nothing.
  std::string tryParse(const std::vector<std::string> &words);

  /// Returns the words of the parsed command line that are no flags or values.
  const std::vector<std::string> &others() const { return others_; }
  bool has(const std::string &flag) const;
  /// Returns the flags of the parsed command line with their values as given;
  /// the value of a path flag is empty.
  std::map<std::string, std::string> given() const;
  /// Adds the paths that the given flags read and write.
  void addUses(PathUses &uses) const;
  /// Returns the files that the given flags write.
  std::vector<OutputPath> outputs() const;
  /// Returns the flags in the order of their declarations.
  std::vector<Text> texts() const;
  /// Returns CLI11's text of --help.
  std::string help(const std::string &description, const std::string &program,
                   const std::string &footer) const;

private:
  std::vector<std::string>
  checkSpelling(const std::vector<std::string> &words) const;

  std::unique_ptr<CLI::App> app_;
  Hint hint_;
  std::string group_;
  std::vector<std::string> others_;
  std::vector<std::pair<CLI::Option *, Tell>> paths_;
  std::vector<std::pair<CLI::Option *, Writing>> outputs_;
};

} // namespace ppopt

#endif // PPOPT_RUNTIME_FLAGS_FLAGS_H
