//===- driver.cpp - Finds the subcommand and runs it ----------------------===//

#include "driver.h"

#include "commands.h"

#include "files/standard_streams.h"
#include "files/system_error.h"

#include "ppopt/Config.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/thread.h"

#include <pthread.h>

using namespace llvm;
using namespace ppopt;

static const Command *const commands[] = {&importCommand, &compileCommand,
                                          &planCommand, &machineCommand,
                                          &plotCommand};

static const Command *const models[] = {
    &modelGptCommand,     &modelLlamaCommand,   &modelQwenCommand,
    &modelMistralCommand, &modelMixtralCommand, &modelBertCommand,
    &modelMlpCommand};

/// "model gpt" is the command of "gpt".
static StringRef familyOf(const Command &model) {
  return model.name.split(' ').second;
}

static constexpr StringRef topics[] = {"import", "compile", "plan", "machine",
                                       "plot",   "opt",     "model"};

static constexpr StringRef overviewFlags[] = {"--help", "--version"};

static void printOverview(raw_ostream &out) {
  out << "ppopt " PPOPT_VERSION
         ": compiles a model and a parallel plan to a training executable\n"
         "\n"
         "usage:\n"
         "  ppopt import MODEL.pt2 -o FILE        "
      << importCommand.summary
      << "\n"
         "  ppopt compile MODEL -o FILE [flags]   "
      << compileCommand.summary
      << "\n"
         "  ppopt plan MODEL [flags]              "
      << planCommand.summary
      << "\n"
         "  ppopt machine [-o FILE]               "
      << machineCommand.summary
      << "\n"
         "  ppopt plot RUN.jsonl... -o FILE       "
      << plotCommand.summary
      << "\n"
         "  ppopt opt FILE [passes]               runs single passes, like "
         "mlir-opt\n"
         "  ppopt model FAMILY [flags]            writes a model file: gpt, "
         "llama, "
         "qwen,\n"
         "                                        mistral, mixtral, bert or "
         "mlp\n"
         "\n"
         "'ppopt COMMAND --help' lists the flags of a command. 'ppopt "
         "--version' prints the\n"
         "version. The exit status is 0 for success, 2 for an invalid command "
         "line and 1\n"
         "for any other error.\n"
         "\n"
         "Example:\n"
         "  ppopt model gpt --preset byte-gpt -o gpt.mlir\n"
         "  ppopt compile gpt.mlir --mesh dp=2 -o train\n"
         "  ./train --data FILE-OR-FOLDER --steps 100\n";
}

/// Runs a command with the arguments after its name.
static int run(const Command &command, ArrayRef<const char *> words,
               const mlir::pp::CompilationSetup &setup) {
  CommandLine line(command, words);
  return command.run(line, setup);
}

static int runModel(ArrayRef<const char *> words,
                    const mlir::pp::CompilationSetup &setup) {
  StringRef family = words.empty() ? StringRef() : words.front();
  if (family == "--version") {
    printVersion(outs());
    return 0;
  }
  if (family == "--help" || family == "-h") {
    for (const Command *model : models)
      if (int status = run(*model, {"--help"}, setup))
        return status;
    return 0;
  }
  std::vector<StringRef> families;
  for (const Command *model : models) {
    families.push_back(familyOf(*model));
    if (families.back() == family)
      return run(*model, words.drop_front(), setup);
  }
  if (family.empty() || family.starts_with("-"))
    errs() << "ppopt model: error: which model? One of " << join(families, ", ")
           << ", e.g. 'ppopt model gpt'\n";
  else
    errs() << "ppopt model: error: unknown model '" << family << "'"
           << suggest(family, families) << "\n";
  return kUsage;
}

/// Returns the exit status.
static int runMain(int argc, char **argv,
                   const mlir::pp::CompilationSetup &setup) {
  StringRef name = argc > 1 ? argv[1] : "";
  ArrayRef<const char *> words(argv + std::min(argc, 2), argv + argc);

  if (name == "--version") {
    printVersion(outs());
    return 0;
  }
  if (name == "--help" || name == "-h" || name == "help") {
    printOverview(outs());
    return 0;
  }
  if (name == "opt" && is_contained(words, StringRef("--version"))) {
    printVersion(outs());
    return 0;
  }
  if (name == "opt")
    return runOpt(argc - 1, argv + 1);
  if (name == "model")
    return runModel(words, setup);
  for (const Command *command : commands)
    if (command->name == name)
      return run(*command, words, setup);

  if (name.empty())
    printOverview(errs());
  else if (name.starts_with("-"))
    errs() << "ppopt: error: unknown flag '" << name << "'"
           << suggest(name, overviewFlags) << "\n";
  else
    errs() << "ppopt: error: unknown command '" << name << "'"
           << suggest(name, topics) << "\n";
  return kUsage;
}

/// Of threads on which passes work on parts of a module.
static constexpr unsigned workerStack = 64 << 20;

int ppopt::runDriver(int argc, char **argv,
                     const mlir::pp::CompilationSetup &setup) {
  openClosedStreams();
  InitLLVM init(argc, argv);
  reportFileSizeLimit(); // after LLVM's handlers
  pthread_attr_t workers;
  pthread_attr_init(&workers);
  pthread_attr_setstacksize(&workers, workerStack);
  pthread_setattr_default_np(&workers);
  pthread_attr_destroy(&workers);
  int status = 0;
  llvm::thread(std::optional<unsigned>(mlir::pp::kStackBytes), [&] {
    status = runMain(argc, argv, setup);
  }).join();
  outs().flush();
  if (!outs().has_error())
    return status;
  errs() << "ppopt: error: cannot write to standard output: "
         << outs().error().message() << "\n";
  outs().clear_error();
  return 1;
}
