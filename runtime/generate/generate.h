//===- generate.h - Text from a trained model -----------------------------===//
//
// The executable's second program (docs/program.md) scores one token after the
// other on rank 0, with the parameters that training has left.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_GENERATE_GENERATE_H
#define PPOPT_RUNTIME_GENERATE_GENERATE_H

#include "generate/token_choice.h"
#include "generate/tokenizer.h"
#include "options/options.h"
#include "program/compiled_program.h"
#include "program/program.h"

#include <memory>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// What --generate asks for, checked before the first step.
struct GenerationJob {
  /// Throws Error: a model that cannot generate, a tokenizer that is not its, a
  /// prompt that does not fit. `trained` is the program that trains.
  GenerationJob(const CompiledProgram &compiled,
                const runtime::Program &trained, const Options &options);

  runtime::Program program; ///< has `generation`
  const ppopt_task_fn *tasks;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<int32_t> prompt; ///< one token at least
  std::string shownPrompt;     ///< what of it is printed
  int64_t count;               ///< tokens to generate
  ChoiceSettings choice;
};

/// Prints the prompt and what follows, and then how fast. Called by all ranks
/// of the program that trained, after the last step; rank 0 takes the
/// parameters of all and generates. Returns the exit status: a signal that asks
/// the run to stop ends the text.
int generateText(const ppopt_rank &trained, const GenerationJob &job);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_GENERATE_H
