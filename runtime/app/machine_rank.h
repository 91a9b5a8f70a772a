//===- machine_rank.h - Which ranks share a machine -----------------------===//

#ifndef PPOPT_RUNTIME_APP_MACHINE_RANK_H
#define PPOPT_RUNTIME_APP_MACHINE_RANK_H

#include "comm/transport.h"
#include "device/device_options.h"

namespace ppopt::train {

/// Returns the number of this rank among those on its machine, in the order of
/// ranks. Called by all ranks before their channels open. `transport` is null
/// if there is one rank.
device::MachineRank findOnMachine(comm::Transport *transport);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_MACHINE_RANK_H
