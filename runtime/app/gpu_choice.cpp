//===- gpu_choice.cpp - Which GPU each rank has ---------------------------===//

#include "app/gpu_choice.h"

#include "app/agreement.h"
#include "base/error.h"
#include "executor/messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ppopt::train {
namespace {

/// A GPU of a job: its machine and its identity there.
using JobGpu = std::pair<std::string, std::string>;

JobGpu gpuOf(const SeenGpus &rank, const device::GpuChoice &choice) {
  return {rank.host, rank.gpus[size_t(choice.number)]};
}

/// Throws Error if two ranks have the same GPU.
void refuseSharing(const std::vector<SeenGpus> &ranks,
                   const std::vector<device::GpuChoice> &choices) {
  std::map<JobGpu, size_t> owners;
  for (size_t i = 0; i < ranks.size(); ++i) {
    auto [owner, isNew] = owners.emplace(gpuOf(ranks[i], choices[i]), i);
    if (isNew)
      continue;
    const std::string &host = ranks[i].host;
    std::set<std::string> gpus;
    int count = 0;
    for (const SeenGpus &each : ranks)
      if (each.host == host) {
        ++count;
        gpus.insert(each.gpus.begin(), each.gpus.end());
      }
    throw runtime::Error(
        "{} ranks run on {} and see {} GPU{}: ranks {} and {} have the same "
        "GPU ({}); start one rank per GPU, show each rank its own, or add "
        "--share-gpu to let ranks share a GPU",
        count, host, gpus.size(), gpus.size() == 1 ? "" : "s", owner->second, i,
        owner->first.second);
  }
}

} // namespace

std::vector<device::GpuChoice> chooseGpus(const std::vector<SeenGpus> &ranks) {
  std::vector<device::GpuChoice> choices;
  std::map<JobGpu, int> users;
  for (const SeenGpus &rank : ranks) {
    auto first =
        std::min_element(rank.gpus.begin(), rank.gpus.end(),
                         [&](const std::string &a, const std::string &b) {
                           return users[{rank.host, a}] < users[{rank.host, b}];
                         });
    choices.push_back({int(first - rank.gpus.begin()), 1});
    ++users[gpuOf(rank, choices.back())];
  }
  for (size_t i = 0; i < ranks.size(); ++i)
    choices[i].ranks = users[gpuOf(ranks[i], choices[i])];
  return choices;
}

device::GpuChoice chooseGpu(comm::Transport *transport,
                            const std::vector<std::string> &gpus, bool share) {
  if (!transport)
    return {};
  transport->reserve(1);
  Messages messages(*transport, /*channel=*/0); // no step has begun
  std::string seen = hostName();
  for (const std::string &gpu : gpus)
    seen += '\n' + gpu;
  std::vector<SeenGpus> ranks;
  for (const std::string &text : messages.gatherTexts(seen)) {
    SeenGpus rank;
    for (size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
      end = std::min(text.find('\n', begin), text.size());
      std::string word = text.substr(begin, end - begin);
      if (begin == 0)
        rank.host = std::move(word);
      else
        rank.gpus.push_back(std::move(word));
    }
    ranks.push_back(std::move(rank));
  }
  std::vector<device::GpuChoice> choices = chooseGpus(ranks);
  if (!share)
    refuseSharing(ranks, choices);
  choices.resize(size_t(transport->size()));
  messages.broadcast(choices.data(),
                     int64_t(choices.size() * sizeof choices[0]));
  return choices[size_t(transport->rank())];
}

} // namespace ppopt::train
