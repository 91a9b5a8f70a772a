//===- job.h - The opened files and settings of a run ---------------------===//

#ifndef PPOPT_RUNTIME_APP_JOB_H
#define PPOPT_RUNTIME_APP_JOB_H

#include "checkpoint/checkpoint.h"
#include "checkpoint/initial_parameters.h"
#include "checkpoint/parameter_file.h"
#include "data/sampler.h"
#include "generate/generate.h"
#include "options/options.h"
#include "program/program.h"

#include <memory>
#include <optional>

namespace ppopt::train {

/// A training run before its first step, with all files opened and checked.
/// Shared by the ranks of a process, which only read it.
struct Job {
  /// Throws Error for files that do not fit the program. `rank` is the rank of
  /// this process; nullopt if the process has all of them. `bufferBytes`:
  /// those of persistent buffers, which stay valid.
  Job(const runtime::Program &program, const Options &options,
      std::optional<int64_t> rank = std::nullopt,
      std::string_view bufferBytes = {});

  const runtime::Program &program;
  Options options;                   ///< with the steps of its epochs
  std::optional<Sampler> training;   ///< none for a model without inputs
  std::optional<Sampler> prediction; ///< none if not requested
  std::optional<Sampler> evaluation; ///< none if not requested
  int64_t evalRows = 0;              ///< over which an evaluation is
  std::unique_ptr<InitialParameters> initial; ///< null: drawn from the seed
  std::vector<ParameterTensor> exported;      ///< tensors that --export writes
  std::vector<TensorToStore> exportedBuffers; ///< and these
  std::unique_ptr<GenerationJob> generation;  ///< null: not requested
  std::unique_ptr<Checkpoint> resumed;        ///< null: starts at step 0
  std::vector<std::string> notes;             ///< for people

  /// Returns the steps that the resumed run has completed; 0 without one.
  int64_t firstStep() const { return resumed ? resumed->manifest().step : 0; }
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_JOB_H
