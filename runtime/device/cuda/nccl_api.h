//===- nccl_api.h - What we call of NCCL ----------------------------------===//
//
// Our own declarations of the ABI of libnccl.so.2, which is loaded when a
// program for several GPUs starts. Source: the NCCL reference, version 2.28;
// all of it exists since 2.18. test/device/fake/api_test.cpp compares them with
// nccl.h where it is found.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_NCCL_API_H
#define PPOPT_RUNTIME_DEVICE_CUDA_NCCL_API_H

#include "device/cuda/driver_api.h"

#include <cstddef>

namespace ppopt::cuda {

struct CommunicatorContext;
using Communicator = CommunicatorContext *;

/// Made by one rank of a group, passed to all by the caller.
struct CommunicatorId {
  char bytes[128];
};

enum class NcclResult : int {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

enum class NcclType : int {
  bytes = 0,
  i32 = 2,
  i64 = 4,
  f32 = 7,
  f64 = 8,
  bf16 = 9
};
enum class NcclReduction : int { sum = 0, max = 2 };

// PPOPT_FUNCTION(NAME, "SYMBOL", PARAMETERS...). Counts are in elements;
// of reduceScatter per result, of allGather per rank.
#define PPOPT_NCCL(PPOPT_FUNCTION)                                             \
  PPOPT_FUNCTION(getVersion, "ncclGetVersion", int *version)                   \
  PPOPT_FUNCTION(getUniqueId, "ncclGetUniqueId", CommunicatorId *id)           \
  PPOPT_FUNCTION(commInitRank, "ncclCommInitRank", Communicator *communicator, \
                 int ranks, CommunicatorId id, int rank)                       \
  PPOPT_FUNCTION(commDestroy, "ncclCommDestroy", Communicator communicator)    \
  PPOPT_FUNCTION(commAbort, "ncclCommAbort", Communicator communicator)        \
  PPOPT_FUNCTION(commGetAsyncError, "ncclCommGetAsyncError",                   \
                 Communicator communicator, NcclResult *error)                 \
  PPOPT_FUNCTION(allReduce, "ncclAllReduce", const void *send, void *receive,  \
                 size_t count, NcclType type, NcclReduction reduction,         \
                 Communicator communicator, Stream stream)                     \
  PPOPT_FUNCTION(reduceScatter, "ncclReduceScatter", const void *send,         \
                 void *receive, size_t count, NcclType type,                   \
                 NcclReduction reduction, Communicator communicator,           \
                 Stream stream)                                                \
  PPOPT_FUNCTION(allGather, "ncclAllGather", const void *send, void *receive,  \
                 size_t count, NcclType type, Communicator communicator,       \
                 Stream stream)                                                \
  PPOPT_FUNCTION(send, "ncclSend", const void *send, size_t count,             \
                 NcclType type, int peer, Communicator communicator,           \
                 Stream stream)                                                \
  PPOPT_FUNCTION(receive, "ncclRecv", void *receive, size_t count,             \
                 NcclType type, int peer, Communicator communicator,           \
                 Stream stream)                                                \
  PPOPT_FUNCTION(groupStart, "ncclGroupStart", void)                           \
  PPOPT_FUNCTION(groupEnd, "ncclGroupEnd", void)

/// The library's functions.
struct NcclApi {
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) NcclResult (*NAME)(__VA_ARGS__);
  PPOPT_NCCL(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
  const char *(*getErrorString)(NcclResult result);
  const char *(*getLastError)(Communicator communicator);
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_NCCL_API_H
