//===- tune_matmuls.cpp - Chooses algorithms of matmuls by measuring ------===//

#include "app/tune_matmuls.h"

#include "app/tune_file.h"
#include "base/error.h"
#include "executor/matmul_tuner.h"
#include "executor/matmul_uses.h"
#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::train {
namespace {

using runtime::Error;
using runtime::FastestAlgorithm;
using runtime::MatmulUse;
using runtime::MatmulUses;

/// As ranks send it to one another.
struct Choice {
  MatmulUse use;
  device::MatmulAlgorithm algorithm;
};

/// Returns what all ranks have, on rank 0.
template <typename T>
std::vector<T> gatherLists(Messages &messages, const std::vector<T> &mine) {
  std::vector<T> all;
  for (const std::string &bytes : messages.gatherTexts(
           std::string(reinterpret_cast<const char *>(mine.data()),
                       mine.size() * sizeof(T)))) {
    size_t begin = all.size();
    all.resize(begin + bytes.size() / sizeof(T));
    std::memcpy(all.data() + begin, bytes.data(), bytes.size());
  }
  return all;
}

std::string describe(const device::MatmulMachine &machine) {
  return fmt::format("{} with {} multiprocessors and {}", machine.gpu,
                     machine.multiprocessors, machine.library);
}

/// Throws Error on rank 0 if a rank differs from it.
void checkMachines(Messages &messages, const device::MatmulMachine &machine) {
  std::vector<std::string> all = messages.gatherTexts(describe(machine));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw Error("--tune: rank {} has {}, and rank 0, which measures, {}: "
                  "start all ranks on GPUs of one model, or leave out --tune",
                  rank, all[rank], all[0]);
}

/// What rank 0 measures and finds.
class Tuning {
public:
  Tuning(ppopt_rank &rank, const std::string &path)
      : rank(rank), library(*rank.device->matmulLibrary()), path(path),
        file(path, library.machine()) {}

  /// Returns the choice for each use that has one, and uses it.
  std::vector<Choice> run(const std::vector<MatmulUse> &uses);
  std::string describe(const MatmulUses &own) const;

private:
  const runtime::Matmul &matmulOf(const MatmulUse &use) const {
    return rank.program.matmuls[use.matmul];
  }
  void useFile(const MatmulUse &use, const FastestAlgorithm &found);

  ppopt_rank &rank;
  device::MatmulLibrary &library;
  const std::string &path;
  TuneFile file;
  int64_t measured = 0, taken = 0, tooLarge = 0;
};

std::vector<Choice> Tuning::run(const std::vector<MatmulUse> &uses) {
  std::vector<Choice> choices;
  std::vector<MatmulUse> missing;
  for (const MatmulUse &use : uses)
    if (const FastestAlgorithm *found =
            file.find(matmulOf(use), use.alignment)) {
      useFile(use, *found);
      choices.push_back({use, found->algorithm});
      ++taken;
    } else {
      missing.push_back(use);
    }
  if (missing.empty())
    return choices;
  runtime::MatmulTuner tuner(rank);
  for (const MatmulUse &use : missing) {
    // Two matmuls of a program may differ in nothing but their names.
    const FastestAlgorithm *found = file.find(matmulOf(use), use.alignment);
    if (!found) {
      std::optional<FastestAlgorithm> fastest = tuner.measure(use);
      if (!fastest) {
        ++tooLarge;
        continue;
      }
      file.add(matmulOf(use), use.alignment, *fastest);
      found = file.find(matmulOf(use), use.alignment);
    }
    library.use(int(use.matmul), use.alignment, found->algorithm);
    choices.push_back({use, found->algorithm});
    ++measured;
  }
  tuner.finish();
  if (measured > 0)
    file.write();
  return choices;
}

void Tuning::useFile(const MatmulUse &use, const FastestAlgorithm &found) {
  try {
    library.use(int(use.matmul), use.alignment, found.algorithm);
  } catch (const Error &error) {
    throw Error("{}: {}: remove the file, and matmuls are measured again", path,
                error.what());
  }
}

/// `own`: those of rank 0.
std::string Tuning::describe(const MatmulUses &own) const {
  double chosen = 0, heuristic = 0;
  for (const auto &[use, calls] : own)
    if (const FastestAlgorithm *found =
            file.find(matmulOf(use), use.alignment)) {
      chosen += double(calls) * found->microseconds;
      heuristic += double(calls) * found->heuristicMicroseconds;
    }
  std::string text = fmt::format(
      "matmuls tuned: {} measured, {} taken from {}; those of a step on rank 0 "
      "take {:.3f} ms, and {:.3f} ms with the heuristic's algorithms",
      measured, taken, path, chosen / 1000, heuristic / 1000);
  if (tooLarge > 0)
    text += fmt::format("; {} of other places do not fit rank 0's arena and "
                        "have the heuristic's",
                        tooLarge);
  return text;
}

} // namespace

std::string tuneMatmuls(ppopt_rank &rank, const std::string &path) {
  device::MatmulLibrary *library = rank.device->matmulLibrary();
  if (!library)
    throw Error("--tune: no library computes matmuls of this program; leave it "
                "out");
  std::optional<Messages> messages;
  if (rank.transport && rank.transport->size() > 1)
    messages.emplace(rank);
  if (messages)
    checkMachines(*messages, library->machine());
  MatmulUses own = runtime::findMatmulUses(rank);
  std::vector<MatmulUse> uses;
  for (const auto &[use, calls] : own)
    uses.push_back(use);
  if (messages)
    uses = gatherLists(*messages, uses);
  std::vector<Choice> choices;
  std::string text;
  if (rank.index == 0) {
    auto isEqual = [](const MatmulUse &one, const MatmulUse &other) {
      return !(one < other) && !(other < one);
    };
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end(), isEqual), uses.end());
    Tuning tuning(rank, path);
    choices = tuning.run(uses);
    text = tuning.describe(own);
  }
  if (messages)
    messages->broadcastList(choices);
  if (rank.index != 0)
    for (const Choice &choice : choices)
      library->use(int(choice.use.matmul), choice.use.alignment,
                   choice.algorithm);
  return text;
}

} // namespace ppopt::train
