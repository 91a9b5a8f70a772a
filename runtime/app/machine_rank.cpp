//===- machine_rank.cpp - Which ranks share a machine ---------------------===//

#include "app/machine_rank.h"

#include "app/agreement.h"
#include "executor/messages.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ppopt::train {

device::MachineRank findOnMachine(comm::Transport *transport) {
  if (!transport)
    return {};
  using Host = std::array<char, 256>;
  Host own{};
  std::string name = hostName();
  std::copy_n(name.begin(), std::min(name.size(), own.size()), own.begin());
  std::vector<Host> all(size_t(transport->size()));
  transport->reserve(1);
  Messages messages(*transport, /*channel=*/0); // no step has begun
  messages.gather(own.data(), sizeof own, all.data());
  messages.broadcast(all.data(), int64_t(all.size() * sizeof own));
  auto mine = all.begin() + transport->rank();
  return {int(std::count(all.begin(), mine, own)),
          int(std::count(all.begin(), all.end(), own))};
}

} // namespace ppopt::train
