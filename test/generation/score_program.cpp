//===- score_program.cpp - The main of an executable that is tested -------===//
//
//   ./program --score TOKENS ROWS POSITIONS PARAMETERS OUT
//
// runs the program that generates over rows of i64 tokens and writes, as f64,
// the logits after each of them. Any other command line is that of the
// executable. Linked in place of the runtime's main (check_generation.py).
//
//===----------------------------------------------------------------------===//

#include "app/executable.h"
#include "checkpoint/initial_parameters.h"
#include "device/cpu/team.h"
#include "executor/executor.h"
#include "executor/rank.h"
#include "host_at.h"
#include "ppopt/runtime.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using ppopt::runtime::ElementType;
using ppopt::runtime::Generation;

std::vector<int64_t> readTokens(const std::string &path, size_t count) {
  std::vector<int64_t> tokens(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char *>(tokens.data()),
            std::streamsize(count * sizeof(int64_t)));
  if (!file)
    throw std::runtime_error(path + ": too short");
  return tokens;
}

void writeToken(ppopt_rank &rank, const Generation &model, int64_t token,
                int64_t position) {
  auto narrow = static_cast<int32_t>(token);
  if (model.token.type == ElementType::i64)
    std::memcpy(hostAt(rank, model.token.address), &token, sizeof token);
  else
    std::memcpy(hostAt(rank, model.token.address), &narrow, sizeof narrow);
  std::memcpy(hostAt(rank, model.position.address), &position, sizeof position);
}

void writeLogits(std::ofstream &out, const ppopt_rank &rank,
                 const Generation &model) {
  const char *logits = hostAt(rank, model.logits.address);
  for (int64_t i = 0; i < model.vocabulary; ++i) {
    double score = model.logits.type == ElementType::f64
                       ? reinterpret_cast<const double *>(logits)[i]
                       : reinterpret_cast<const float *>(logits)[i];
    out.write(reinterpret_cast<const char *>(&score), sizeof score);
  }
}

void score(const std::vector<std::string> &arguments) {
  auto document = ppopt::runtime::readGeneration(
      {{ppopt_generation_json, ppopt_generation_json_size},
       ppopt_generation_checksum});
  if (!document.program)
    throw std::runtime_error("refused: " + document.refused);
  ppopt_rank rank(*document.program, ppopt_generation_tasks,
                  /*transport=*/nullptr,
                  {static_cast<int>(document.program->plan.target.threads)});
  ppopt::train::InitialParameters(*document.program, {{arguments[5]}})
      .load(*rank.device, rank.compute, rank.places.parameters);
  size_t rows = std::stoul(arguments[3]), positions = std::stoul(arguments[4]);
  std::vector<int64_t> tokens = readTokens(arguments[2], rows * positions);
  std::ofstream out(arguments[6], std::ios::binary);
  ppopt::runtime::ExecutorOptions options;
  options.poison = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    writeToken(rank, *document.program->generation, tokens[i],
               static_cast<int64_t>(i % positions));
    ppopt::runtime::runEvaluation(rank, {}, options);
    writeLogits(out, rank, *document.program->generation);
  }
}

/// Returns the exit status.
int runProgram(const std::vector<std::string> &arguments) {
  if (arguments.size() != 7 || arguments[1] != "--score")
    return ppopt::train::runExecutable(
        {{{{ppopt_program_json, ppopt_program_json_size},
           ppopt_program_checksum},
          ppopt_tasks},
         {{{ppopt_generation_json, ppopt_generation_json_size},
           ppopt_generation_checksum},
          ppopt_generation_tasks},
         /*prediction=*/{}},
        arguments);
  try {
    score(arguments);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

} // namespace

int main(int argc, char **argv) {
  return ppopt::runMain(argv, [&] {
    return runProgram(std::vector<std::string>(argv, argv + argc));
  });
}
