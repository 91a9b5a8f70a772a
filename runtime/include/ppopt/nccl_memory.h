//===- nccl_memory.h - What NCCL allocates beside the arena ---------------===//
//
// NCCL allocates on a GPU when ranks connect, after the arena. The compiler and
// the runtime reserve the same for it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_NCCL_MEMORY_H
#define PPOPT_NCCL_MEMORY_H

#include <cstdint>

namespace ppopt {

/// Of a channel of a communicator: the buffers of the three protocols of a
/// connection, 512 KiB, 4.7 MiB and 4 MiB, in pieces of 2 MiB (buffSizes in
/// init.cc and transport/p2p.cc of NCCL 2.28). No GPU has been measured yet.
inline constexpr int64_t ncclChannelBytes = int64_t{10} << 20;

/// Channels of a communicator, unless NCCL_MAX_NCHANNELS allows fewer: what
/// NCCL uses between Hopper's GPUs over NVLink.
inline constexpr int64_t ncclChannels = 24;

} // namespace ppopt

#endif // PPOPT_NCCL_MEMORY_H
