//===- thread_transport.h - Ranks that are threads of one process ---------===//

#ifndef PPOPT_COMM_THREAD_TRANSPORT_H
#define PPOPT_COMM_THREAD_TRANSPORT_H

#include "comm/transport.h"

#include <functional>

namespace ppopt::comm {

/// Runs `body` once per rank, with rank 0 on the calling thread, and returns
/// when all have returned. A transfer between two ranks is one copy, made by
/// the side that posts second. If a rank throws, or waits for a rank that has
/// returned, the others are woken. After all have ended, RankFailure is thrown
/// with the first reason.
void runThreadRanks(int ranks, const std::function<void(Transport &)> &body);

} // namespace ppopt::comm

#endif // PPOPT_COMM_THREAD_TRANSPORT_H
