//===- prediction_loop.h - Computes a model's outputs for all rows --------===//

#ifndef PPOPT_RUNTIME_APP_PREDICTION_LOOP_H
#define PPOPT_RUNTIME_APP_PREDICTION_LOOP_H

#include "app/job.h"
#include "comm/transport.h"
#include "program/compiled_program.h"

namespace ppopt::train {

/// Runs one rank of a job with --predict, and returns the exit status. As
/// runRank() (training_loop.h).
int predict(const Job &job, const StoredProgram &stored,
            comm::Transport *transport);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_PREDICTION_LOOP_H
