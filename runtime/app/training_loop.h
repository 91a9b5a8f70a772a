//===- training_loop.h - All steps of one rank ----------------------------===//

#ifndef PPOPT_RUNTIME_APP_TRAINING_LOOP_H
#define PPOPT_RUNTIME_APP_TRAINING_LOOP_H

#include "app/job.h"
#include "comm/transport.h"
#include "program/compiled_program.h"

namespace ppopt::train {

/// Runs one rank to the end of the job, or until a stop signal (StopSignals).
/// Rank 0 prints, logs and writes files. `stored` is the program of the job.
/// `transport` may be null if the plan has one rank. Returns the exit status,
/// the same on all ranks: 0, or stopStatus of the signal. Throws Error.
int runRank(const Job &job, const StoredProgram &stored,
            comm::Transport *transport);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_TRAINING_LOOP_H
