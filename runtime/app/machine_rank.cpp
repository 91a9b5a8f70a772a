//===- machine_rank.cpp - Which ranks share a machine ---------------------===//

#include "app/machine_rank.h"

#include "app/agreement.h"
#include "executor/messages.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ppopt::train {

device::MachineRank findOnMachine(comm::Transport *transport) {
  if (!transport)
    return {};
  transport->reserve(1);
  Messages messages(*transport, /*channel=*/0); // no step has begun
  std::vector<std::string> hosts = messages.gatherTexts(hostName());
  std::vector<device::MachineRank> ranks(size_t(transport->size()));
  for (size_t i = 0; i < hosts.size(); ++i)
    ranks[i] = {int(std::count(hosts.begin(), hosts.begin() + i, hosts[i])),
                int(std::count(hosts.begin(), hosts.end(), hosts[i]))};
  messages.broadcast(ranks.data(), int64_t(ranks.size() * sizeof ranks[0]));
  return ranks[size_t(transport->rank())];
}

} // namespace ppopt::train
