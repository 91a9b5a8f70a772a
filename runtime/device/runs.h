//===- runs.h - Copies of the runs of a part of a tensor ------------------===//
//
// The bytes of a part (geometry/tile.h) follow one another in the memory of a
// rank, and lie run by run in the whole tensor.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_RUNS_H
#define PPOPT_RUNTIME_DEVICE_RUNS_H

#include "device/device.h"
#include "geometry/tile.h"

#include <cstdint>

namespace ppopt::device {

/// Copies the bytes of a part to where they belong in a tensor, of which byte
/// `origin` is at `to`.
void placeRuns(const char *from, const geometry::TilePart &bytes, char *to,
               int64_t origin);

/// Copies the bytes of a part of a tensor, of which byte `origin` is at `from`,
/// to where they follow one another.
void gatherRuns(char *to, const geometry::TilePart &bytes, const char *from,
                int64_t origin = 0);

/// Copies the bytes of a part of a tensor, of which byte `origin` is at `from`,
/// which may be unaligned, to a device. `from` must not change until the stream
/// is synchronized.
void copyRunsIn(Device &device, Stream stream, DevicePointer to,
                const geometry::TilePart &bytes, const char *from,
                int64_t origin = 0);

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_RUNS_H
