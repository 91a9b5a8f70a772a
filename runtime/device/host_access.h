//===- host_access.h - Device memory in pieces that the host can read -----===//
//
// For everything outside of steps: checkpoints, exports, checks. Where the host
// can access the memory there is one piece, and nothing is copied.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_HOST_ACCESS_H
#define PPOPT_RUNTIME_DEVICE_HOST_ACCESS_H

#include "device/device.h"

#include <algorithm>

namespace ppopt::device {

/// Calls `use(const char *data, int64_t offset, int64_t bytes)` for the pieces
/// of `bytes` bytes, in order. Runs after what was enqueued on `stream`.
template <typename Use>
void readPieces(Device &device, Stream stream, DevicePointer from,
                int64_t bytes, const Use &use) {
  if (bytes == 0)
    return;
  if (const char *data = device.hostView(from)) {
    device.synchronize(stream);
    return use(data, int64_t{0}, bytes);
  }
  char *piece = device.hostPiece();
  for (int64_t offset = 0; offset < bytes; offset += pieceBytes) {
    int64_t size = std::min(pieceBytes, bytes - offset);
    device.copyOut(stream, piece, from + offset, size);
    device.synchronize(stream);
    use(static_cast<const char *>(piece), offset, size);
  }
}

/// Calls `make(char *data, int64_t offset, int64_t bytes)`, which fills `data`,
/// for the pieces of `bytes` bytes, in order. Complete on return.
template <typename Make>
void writePieces(Device &device, Stream stream, DevicePointer to, int64_t bytes,
                 const Make &make) {
  if (bytes == 0)
    return;
  if (char *data = device.hostView(to)) {
    device.synchronize(stream);
    return make(data, int64_t{0}, bytes);
  }
  char *piece = device.hostPiece();
  for (int64_t offset = 0; offset < bytes; offset += pieceBytes) {
    int64_t size = std::min(pieceBytes, bytes - offset);
    make(piece, offset, size);
    device.copyIn(stream, to + offset, piece, size);
    device.synchronize(stream);
  }
}

/// Returns a number that lies in device memory.
template <typename Number>
Number read(Device &device, Stream stream, DevicePointer from) {
  Number number;
  device.copyOut(stream, &number, from, sizeof number);
  device.synchronize(stream);
  return number;
}

template <typename Number>
void write(Device &device, Stream stream, DevicePointer to, Number number) {
  device.copyIn(stream, to, &number, sizeof number);
  device.synchronize(stream);
}

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_HOST_ACCESS_H
