//===- opt.cpp - `ppopt opt`: runs single passes --------------------------===//

#include "commands.h"

#include "ppopt/Driver/Compile.h"

#include "mlir/Debug/CLOptionsSetup.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace ppopt;

/// Hides the flags that are registered so far, mostly of LLVM's back ends, from
/// --help. They still work.
static void hideLibraryFlags() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (name != "help")
      option->setHiddenFlag(cl::ReallyHidden);
}

/// Returns an error for the first unknown flag, with a suggestion; empty if
/// there is none.
static std::string findUnknownFlag(ArrayRef<char *> words) {
  auto &options = cl::getRegisteredOptions();
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    StringRef flag = word.split('=').first, name = flag.ltrim('-');
    if (!word.starts_with("-") || name.empty())
      continue;
    auto found = options.find(name);
    if (found != options.end()) {
      // The next word is the flag's value, even if it looks like a flag.
      i += found->second->getValueExpectedFlag() == cl::ValueRequired &&
           !word.contains('=');
      continue;
    }
    std::vector<std::string> spelled;
    for (auto &[known, option] : options)
      if (option->getOptionHiddenFlag() != cl::ReallyHidden)
        spelled.push_back("--" + known.str());
    sort(spelled);
    std::vector<StringRef> known(spelled.begin(), spelled.end());
    std::string hint = askForNearest(flag, known);
    if (hint.empty())
      hint = "; see 'ppopt opt --help'";
    return ("unknown flag '" + flag + "'" + hint).str();
  }
  return "";
}

int ppopt::runOpt(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::pp::registerCompilerDialects(registry);
  mlir::pp::registerCompilerPasses();

  // Does what mlir::registerAndParseCLIOptions does, but that exits with 1.
  hideLibraryFlags();
  static cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                                    cl::init("-"));
  static cl::opt<std::string> output("o", cl::desc("Output filename"),
                                     cl::value_desc("filename"), cl::init("-"));
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mlir::tracing::DebugConfig::registerCLOptions();
  std::vector<char *> words(argv, argv + argc);
  static char name[] = "ppopt opt";
  words.front() = name;
  std::string wrong = findUnknownFlag(ArrayRef(words).drop_front());
  raw_string_ostream errors(wrong);
  bool isRight =
      wrong.empty() &&
      cl::ParseCommandLineOptions(argc, words.data(),
                                  "runs ppopt's passes on a module\n", &errors);
  StringRef line = StringRef(wrong).split('\n').first;
  line.consume_front("ppopt opt: ");
  if (!line.empty()) // otherwise LLVM's option has printed the error
    errs() << "ppopt opt: error: " << line << "\n";
  if (!isRight)
    return kUsage;
  if (std::string conflict =
          findPathConflict(input.getValue(), output.getValue());
      !conflict.empty()) {
    errs() << "ppopt opt: error: " << conflict << "\n";
    return kUsage;
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
