//===- options.h - The parsed command line of a run -----------------------===//

#ifndef PPOPT_RUNTIME_OPTIONS_OPTIONS_H
#define PPOPT_RUNTIME_OPTIONS_OPTIONS_H

#include "checkpoint/starting_point.h"
#include "comm/channels.h"
#include "data/token_files.h"
#include "flags/flags.h"
#include "options/learning_rate.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

/// What the executable does.
enum class Mode { Train, Help, Version, Describe, DescribeJson, Needs };

/// The ranks whose profiles are printed.
enum class Profiled { Nobody, FirstRank, AllRanks };

/// Makes ranks slow, for tests: a step takes `factor` times as long, with this
/// probability, on this rank.
struct Delay {
  double factor = 1, probability = 1;
  int64_t rank = -1; ///< -1: on each
};

/// The number by which evaluations are compared: the loss or a metric.
struct BestBy {
  std::string name;    ///< empty: evaluations are not compared
  bool isLeast = true; ///< the least is the best, else the greatest

  bool isGiven() const { return !name.empty(); }
  std::string spell() const { return name + (isLeast ? ":min" : ":max"); }
};

/// All flags, checked against each other and against the program. A path is
/// empty if its flag was not given.
struct Options {
  Mode mode = Mode::Train;
  bool needs = false; ///< --needs, as given
  std::string help;   ///< the text, if mode is Help
  /// The given flags and their values; the value of a path flag is empty.
  std::map<std::string, std::string> given;
  /// The uses of the flags' paths, and the files that are written.
  PathUses paths;
  std::vector<OutputPath> outputs;

  // Samples.
  std::vector<std::string> data, inputs, evalData, evalInputs;
  TokenFormat tokens = TokenFormat::Bytes;
  bool shuffle = true;
  int64_t evalEvery = 0;     ///< 0: only after the last step
  int64_t metricsEvery = 0;  ///< of steps' batches; 0: never
  int64_t evalBatches = 0;   ///< 0: the default
  bool evaluatesAll = false; ///< all samples

  // Training.
  bool trains = true; ///< else it only generates or predicts: `steps` is 0
  int64_t steps = 100;
  int64_t epochs = 0; ///< if not 0: `steps` follows from the samples (Job)
  LearningRateSchedule learningRate;
  double weightDecay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0;
  std::optional<double> averageDecay; ///< none: the program has no averages
  double clip = 0;                    ///< 0: off
  int64_t seed = 0;
  int64_t skipNonFiniteSteps = 0; ///< limit in a row; 0: the first ends the run

  // Files.
  StartingPoint init; ///< without paths: the parameters are drawn
  std::string initMap, exportTo, exportMap, log, tensorboard, dumpGradients,
      trace;
  int64_t traceSteps = 4;
  bool traceLaunches = false;
  int64_t logEvery = 0; ///< 0: the default

  // Checkpoints.
  std::string checkpoint;      ///< the folder; empty: no checkpoints
  int64_t checkpointEvery = 0; ///< 0: only after the last step
  int64_t keep = 3;
  BestBy best;                   ///< the checkpoint that is kept besides
  int64_t stopAfterNoBetter = 0; ///< evaluations; 0: never
  int64_t checkpointMemory = std::numeric_limits<int64_t>::max(); ///< per rank
  bool resume = false;

  // Generation.
  int64_t generate = 0; ///< tokens; 0: none
  std::string prompt, tokenizer;
  double temperature = 1;
  int64_t topK = 0; ///< 0: all tokens

  // Predictions.
  std::vector<std::string> predict;
  std::string output;
  std::vector<std::string> only; ///< outputs that are written; empty: all

  // Running.
  comm::Collectives collectives = comm::Collectives::Ring;
  bool shareGpu = false; ///< ranks may share a GPU
  bool useGraph = true;  ///< repeat steps as CUDA graphs
  std::string tune;      ///< the file with algorithms of matmuls
  double timeout = 600;  ///< seconds that a rank may wait; 0: no limit
  double timeLimit = 0;  ///< seconds after which the run stops; 0: no limit
  bool checkCounters = false;
  bool poison = false;
  int64_t checkReplicas = 0; ///< 0: off
  Profiled profile = Profiled::Nobody;
  std::string publishPhases;
  std::string record, replay; ///< of asynchronous training
  Delay delay;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OPTIONS_OPTIONS_H
