//===- paths.cpp - Checks the paths of a command --------------------------===//

#include "paths.h"

#include "files/output_target.h"
#include "files/path_uses.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace ppopt;

/// Calls `use` with each flag's spelling, value and table row.
template <typename Use>
static void forEachFlag(const Command &command, const Arguments &arguments,
                        const Use &use) {
  for (ArrayRef<Flag> group : command.flags)
    for (const Flag &flag : group)
      if (std::string value = arguments.get(flag.name).str(); !value.empty())
        use((flag.name.size() > 1 ? "--" : "-") + flag.name.str(), value, flag);
}

/// Returns whether --dump-phases writes this file in its folder:
/// "0-model.mlir".
static bool isPhaseFile(std::string_view path) {
  StringRef name(path);
  name.consume_front("generator-");
  return !name.take_while(isDigit).empty() && name.ends_with(".mlir") &&
         !name.contains('/');
}

std::string ppopt::findPathConflict(const Command &command,
                                    const Arguments &arguments) {
  PathUses uses;
  for (const std::string &path : arguments.positionals)
    if (path == "-")
      uses.readsInput();
    else
      uses.reads(command.positional.split('.').first.str(), path);
  bool writesStream = false;
  forEachFlag(
      command, arguments,
      [&](const std::string &name, const std::string &value, const Flag &flag) {
        if (flag.kind == ValueKind::NameOrFile && isFile(value))
          uses.reads(name, value);
        if (flag.kind == ValueKind::OutputFolder)
          uses.writesFolder(name, value, "0-model.mlir", isPhaseFile);
        if (flag.kind != ValueKind::Output || value == "-")
          return;
        uses.writes(name, value);
        writesStream |= followLinks(value).isDescriptor;
      });
  if (!writesStream) // unless an output is /dev/stdout
    uses.writesOutput();
  static int anchor;
  uses.reads("this program", sys::fs::getMainExecutable("ppopt", &anchor));
  return uses.findConflict();
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

std::string ppopt::findUnwritable(const Command &command,
                                  const Arguments &arguments) {
  std::string found;
  forEachFlag(
      command, arguments,
      [&](const std::string &name, const std::string &value, const Flag &flag) {
        if (flag.kind != ValueKind::Output || value == "-" || !found.empty())
          return;
        std::string why = whyNotWritable(value, Writing::Whole);
        if (!why.empty())
          found = name + " " + value + ": " + why;
      });
  return found;
}
