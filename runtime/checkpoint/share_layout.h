//===- share_layout.h - What a rank writes and sends for a checkpoint -----===//
//
// A rank's data is the bytes of all tensors that it writes, file by file, in
// the order of the files. What exceeds its copy in memory is the first part of
// them, so that it is written first: the direct bytes. The others are copied.
//
// Bytes of a tensor that its writer lacks go there in messages. The writer's
// data is cut into windows of `gatherBytes`, and a message has what one rank
// has of one tensor in one window. All messages of a save are in one order: the
// copied bytes of all ranks before the direct ones; then round by round, where
// round k has the k-th window of each writer's data; in a round by writer; then
// by tensor and by holder. Every rank sends and receives those in which it
// takes part in this order, one at a time, and between them waits for nothing
// but its own device and disk. So no rank waits forever: of the messages that
// are not done yet, the first one has both its ranks. The order depends on the
// program and on `memory` only, both of which are the same on all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_SHARE_LAYOUT_H
#define PPOPT_RUNTIME_CHECKPOINT_SHARE_LAYOUT_H

#include "checkpoint/checkpoint_shares.h"
#include "data/safetensors.h"
#include "device/host_access.h"
#include "geometry/tile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// The bytes of a window, and the most of a message.
inline constexpr int64_t gatherBytes = device::pieceBytes;

/// Bytes on their way from a rank's memory to the rank that writes them, which
/// may be the same.
struct GatheredBytes {
  int64_t writer, holder;
  runtime::PlaceAddress from; ///< in the holder's memory
  geometry::TilePart bytes;   ///< of the tensor
  int64_t tensor;             ///< where it begins in the writer's data
  int64_t round;
};

struct ShareLayout {
  struct File {
    std::string name;
    std::vector<TensorToStore> tensors; ///< in the order of the file
    std::vector<int64_t> bytes;         ///< by tensor
  };
  std::vector<File> files; ///< that the rank writes: one per CheckpointPart
  int64_t bytes = 0;       ///< of its data
  int64_t directBytes = 0; ///< the first of them, which are not copied
  /// Those in which the rank takes part, in the order above. All bytes of the
  /// rank's own data are in one of them.
  std::vector<GatheredBytes> copied, direct;
};

/// Returns the layout of a rank. The copy of each rank has at most `memory`
/// bytes.
ShareLayout layOutShare(const runtime::Program &program, int64_t rank,
                        int64_t memory);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_SHARE_LAYOUT_H
