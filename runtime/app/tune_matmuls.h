//===- tune_matmuls.h - Chooses algorithms of matmuls by measuring --------===//

#ifndef PPOPT_RUNTIME_APP_TUNE_MATMULS_H
#define PPOPT_RUNTIME_APP_TUNE_MATMULS_H

#include <string>

struct ppopt_rank;

namespace ppopt::train {

/// Called by all ranks, before parameters are initialised. Rank 0 takes from
/// the file, or measures and adds to it, an algorithm for each library matmul
/// of any rank; all ranks use them. Returns what the log says, on rank 0.
/// Throws Error: on rank 0 if a rank has another GPU or library, if the file
/// does not fit them, or if the library refuses one of its algorithms.
std::string tuneMatmuls(ppopt_rank &rank, const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_TUNE_MATMULS_H
