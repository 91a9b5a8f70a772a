//===- ppopt_mutate.cpp - ppopt with a known bug --------------------------===//
//
//   ppopt-mutate compile MODEL -o FILE --mutate NAME
//     The mutation runs after its phase's verifier: the executable has the bug.
//   ppopt-mutate compile MODEL -o FILE --mutate-before-verifier NAME
//     The phase's verifier runs after the mutation, and may refuse the module.
//   ppopt-mutate compile MODEL -o FILE --mutate-prediction NAME
//     As --mutate, but always of the program that predicts.
//   ppopt-mutate opt FILE --mutate-NAME
//     The pass alone.
//   ppopt-mutate --mutations
//     The names, one per line.
//   ppopt-mutate compile MODEL -o FILE --target count
//     A target that only this tool has (CountTarget.h).
//
// Everything else is ppopt's.
//
//===----------------------------------------------------------------------===//

#include "CountTarget.h"
#include "Mutations.h"
#include "driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace mlir::pp;
using llvm::StringRef;

namespace {

/// What the command line says of mutations.
struct Choice {
  const Mutation *mutation = nullptr;
  PhasePoint point = PhasePoint::End;
  ProgramKind program = ProgramKind::Training;
};

const Mutation *findMutation(StringRef name) {
  for (const Mutation &mutation : getMutations())
    if (mutation.name == name)
      return &mutation;
  llvm::errs() << "ppopt-mutate: error: no mutation is named '" << name
               << "'; 'ppopt-mutate --mutations' lists them\n";
  return nullptr;
}

/// Takes the flags of this tool out of `words`. False if they are wrong.
bool takeFlags(std::vector<char *> &words, Choice &choice) {
  for (auto word = words.begin(); word != words.end();) {
    bool isBefore = StringRef(*word) == "--mutate-before-verifier";
    bool isPrediction = StringRef(*word) == "--mutate-prediction";
    if (!isBefore && !isPrediction && StringRef(*word) != "--mutate") {
      ++word;
      continue;
    }
    if (choice.mutation || std::next(word) == words.end()) {
      llvm::errs() << "ppopt-mutate: error: " << *word
                   << (choice.mutation ? ": one mutation is enough\n"
                                       : " needs the name of a mutation\n");
      return false;
    }
    choice.mutation = findMutation(*std::next(word));
    if (!choice.mutation)
      return false;
    choice.point = isBefore ? PhasePoint::BeforeVerifier : PhasePoint::End;
    choice.program =
        isPrediction ? ProgramKind::Prediction : choice.mutation->program;
    word = words.erase(word, word + 2);
  }
  return true;
}

/// The nearest folder above this tool that has the runtime.
std::string findPrefix() {
  static int anchor;
  std::string tool = llvm::sys::fs::getMainExecutable("ppopt-mutate", &anchor);
  StringRef folder = llvm::sys::path::parent_path(tool);
  for (; !folder.empty(); folder = llvm::sys::path::parent_path(folder))
    if (llvm::sys::fs::exists(folder + "/lib/libppopt_runtime.a"))
      return folder.str();
  return "";
}

} // namespace

int main(int argc, char **argv) {
  registerMutationPasses();
  registerTrainPhase();
  registerTarget(createCountTarget());
  std::vector<char *> words(argv, argv + argc);
  if (argc == 2 && StringRef(argv[1]) == "--mutations") {
    for (const Mutation &mutation : getMutations())
      llvm::outs() << mutation.name << "\n";
    return 0;
  }
  Choice choice;
  if (!takeFlags(words, choice))
    return 2;
  CompilationSetup setup;
  setup.prefix = findPrefix();
  setup.verifiesPasses = true;
  if (choice.mutation)
    setup.extend = [choice](Phase phase, PhasePoint point,
                            const PlanOptions &options,
                            mlir::OpPassManager &manager) {
      if (phase == choice.mutation->phase && point == choice.point &&
          options.program == choice.program)
        manager.addPass(choice.mutation->create());
    };
  return ppopt::runDriver(words.size(), words.data(), setup);
}
