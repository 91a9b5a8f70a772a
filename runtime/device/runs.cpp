//===- runs.cpp - Copies of the runs of a part of a tensor ----------------===//

#include "device/runs.h"

#include "device/host_access.h"

#include <cstring>

namespace ppopt::device {

using geometry::TilePart;

void placeRuns(const char *from, const TilePart &bytes, char *to,
               int64_t origin) {
  bytes.forEachRun([&](int64_t global, int64_t offset, int64_t count) {
    std::memcpy(to + (global - origin), from + offset, count);
  });
}

void gatherRuns(char *to, const TilePart &bytes, const char *from,
                int64_t origin) {
  bytes.forEachRun([&](int64_t global, int64_t offset, int64_t count) {
    std::memcpy(to + offset, from + (global - origin), count);
  });
}

void copyRunsIn(Device &device, Stream stream, DevicePointer to,
                const TilePart &bytes, const char *from, int64_t origin) {
  if (bytes.isOneRun()) {
    if (bytes.count() > 0)
      device.copyIn(stream, to, from + (bytes.firstGlobal() - origin),
                    bytes.count());
    return;
  }
  writePieces(device, stream, to, bytes.count(),
              [&](char *data, int64_t at, int64_t size) {
                gatherRuns(data, bytes.slice(at, size), from, origin);
              });
}

} // namespace ppopt::device
