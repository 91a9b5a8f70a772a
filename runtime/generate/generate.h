//===- generate.h - Generates text with a trained model -------------------===//
//
// The executable's second program (docs/program.md) computes the scores of one
// token after another on rank 0, with the trained parameters.
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

/// Throws UsageError if ranks have shards of the parameters of a program, so
/// that rank 0 is not to have memory for all of them.
void checkHasWholeModel(const runtime::Program &trained);

/// The settings of --generate, checked before the first step.
struct GenerationJob {
  /// Throws Error if the model cannot generate, the tokenizer is not the
  /// model's, or the prompt is too long. `trained` is the program that trains.
  GenerationJob(const StoredProgram &stored, const runtime::Program &trained,
                const Options &options);

  runtime::Program program; ///< has `generation`
  const ppopt_task_fn *tasks;
  device::DeviceCode code;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<int32_t> prompt; ///< at least one token
  std::string shownPrompt;     ///< the part of it that is printed
  int64_t count;               ///< tokens to generate
  ChoiceSettings choice;
};

/// Prints the prompt, the generated text and the speed. Called by all ranks of
/// the program that trained, after the last step. Rank 0 gathers the parameters
/// and generates. A stop signal ends the text. Returns the exit status.
int generateText(const ppopt_rank &trained, const GenerationJob &job);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_GENERATE_GENERATE_H
