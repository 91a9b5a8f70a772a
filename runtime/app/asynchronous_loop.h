//===- asynchronous_loop.h - All steps of a rank of a trainer -------------===//

#ifndef PPOPT_RUNTIME_APP_ASYNCHRONOUS_LOOP_H
#define PPOPT_RUNTIME_APP_ASYNCHRONOUS_LOOP_H

#include "app/job.h"
#include "comm/transport.h"
#include "program/compiled_program.h"

namespace ppopt::train {

/// Runs one rank of a job that was compiled with --sync stale or async
/// (docs/asynchronous.md), and returns the exit status. As runRank()
/// (training_loop.h).
int trainAsynchronously(const Job &job, const StoredProgram &stored,
                        comm::Transport *transport);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_ASYNCHRONOUS_LOOP_H
