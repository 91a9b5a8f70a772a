//===- pass_tensor.cpp - Passes tensors to rank 0 -------------------------===//

#include "checkpoint/pass_tensor.h"

#include "device/runs.h"
#include "executor/messages.h"
#include "executor/rank.h"

#include <algorithm>
#include <vector>

namespace ppopt::train {
namespace {

/// A tensor in pieces, as device::TransposedPieces has its transpose; or the
/// part of it that begins with the element `first`.
class WholePieces {
public:
  WholePieces(const device::Matrix &matrix, int64_t first)
      : bytes_(matrix.bytes()), elementBytes_(matrix.elementBytes),
        first_(first) {}

  int64_t count() const {
    return (bytes_ + device::pieceBytes - 1) / device::pieceBytes;
  }
  int64_t bytes(int64_t piece) const {
    return std::min(device::pieceBytes, bytes_ - piece * device::pieceBytes);
  }
  int64_t bytesOf(const geometry::TilePart &elements, int64_t piece) const {
    return within(elements, piece).count() * elementBytes_;
  }
  void read(device::Device &device, device::Stream stream,
            device::DevicePointer from, const geometry::TilePart &elements,
            int64_t piece, char *to) const {
    geometry::TilePart part = within(elements, piece);
    device.copyOut(stream, to,
                   from + (part.begin - elements.begin) * elementBytes_,
                   part.count() * elementBytes_);
    device.synchronize(stream);
  }
  void place(const char *from, const geometry::TilePart &elements,
             int64_t piece, char *to) const {
    device::placeRuns(from, within(elements, piece).inBytes(elementBytes_), to,
                      first_ * elementBytes_ + piece * device::pieceBytes);
  }

private:
  geometry::TilePart within(const geometry::TilePart &elements,
                            int64_t piece) const {
    int64_t perPiece = device::pieceBytes / elementBytes_;
    int64_t end = std::min((piece + 1) * perPiece, bytes_ / elementBytes_);
    return elements.within(first_ + piece * perPiece, first_ + end);
  }

  int64_t bytes_, elementBytes_, first_;
};

template <typename Pieces>
void passPieces(const ppopt_rank &rank, const TensorCopy &copy,
                const Pieces &pieces, const WriteBytes &write) {
  std::vector<char> memory, whole; // the second on rank 0 only
  for (int64_t i = 0; i < pieces.count(); ++i) {
    if (rank.index == 0)
      whole.resize(pieces.bytes(i));
    for (const schema::TensorPiece &held : copy) {
      bool isOwn = held.rank == rank.index;
      int64_t bytes =
          isOwn || rank.index == 0 ? pieces.bytesOf(held.elements, i) : 0;
      if (bytes == 0)
        continue;
      memory.resize(bytes);
      if (isOwn)
        pieces.read(*rank.device, rank.compute,
                    rank.places.at({held.place, held.address}), held.elements,
                    i, memory.data());
      else
        Messages(rank).receive(memory.data(), bytes, int(held.rank));
      if (rank.index == 0)
        pieces.place(memory.data(), held.elements, i, whole.data());
      else
        Messages(rank).send(memory.data(), bytes, 0);
    }
    if (rank.index == 0)
      write(whole.data(), whole.size());
  }
}

} // namespace

void passToRank0(const ppopt_rank &rank, const TensorCopy &copy,
                 const device::Matrix &matrix, bool isTransposed,
                 const WriteBytes &write, int64_t first) {
  if (isTransposed)
    passPieces(rank, copy, device::TransposedPieces(matrix), write);
  else
    passPieces(rank, copy, WholePieces(matrix, first), write);
}

} // namespace ppopt::train
