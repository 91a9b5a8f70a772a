//===- job.h - What the ranks of a process share --------------------------===//

#ifndef PPOPT_RUNTIME_APP_JOB_H
#define PPOPT_RUNTIME_APP_JOB_H

#include "checkpoint/checkpoint.h"
#include "checkpoint/parameter_file.h"
#include "data/sampler.h"
#include "generate/generate.h"
#include "options/options.h"
#include "program/program.h"

#include <memory>
#include <optional>

namespace ppopt::train {

/// A training run before its first step: all files are open and checked. Ranks
/// read it, nothing changes it.
struct Job {
  /// Throws Error for files that do not fit the program. `place`: the only one
  /// that this process holds, nothing where it holds all.
  Job(const runtime::Program &program, const Options &options,
      std::optional<int64_t> place = std::nullopt);

  const runtime::Program &program;
  const Options &options;
  std::optional<Sampler> training;   ///< nothing for a model without inputs
  std::optional<Sampler> evaluation; ///< nothing where not asked for
  int64_t evalBatches = 0;
  std::unique_ptr<InitialParameters> initial; ///< null: drawn from the seed
  std::vector<ParameterTensor> exported;      ///< as what --export writes them
  std::unique_ptr<GenerationJob> generation;  ///< null: not asked for
  std::unique_ptr<Checkpoint> resumed;        ///< null: begins with step 0
  std::vector<std::string> notes;             ///< for people

  /// Steps that were done before, by the run that is resumed.
  int64_t firstStep() const { return resumed ? resumed->manifest().step : 0; }
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_JOB_H
