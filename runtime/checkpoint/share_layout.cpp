//===- share_layout.cpp - What a rank writes and sends for a checkpoint ---===//

#include "checkpoint/share_layout.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ppopt::train {
namespace {

using runtime::Program;

/// What a rank writes: its tensors by part, in the order of the files.
struct Share {
  std::vector<const CheckpointTensor *> parts[std::size(kCheckpointParts)];
  int64_t bytes = 0;
};

TensorToStore toStore(const CheckpointTensor &tensor) {
  return {tensor.tensor.name, tensor.tensor.dtype, tensor.tensor.shape};
}

void sortAsInFile(std::vector<const CheckpointTensor *> &tensors) {
  std::vector<TensorToStore> stored;
  for (const CheckpointTensor *tensor : tensors)
    stored.push_back(toStore(*tensor));
  std::vector<const CheckpointTensor *> sorted;
  for (size_t index : orderInFile(stored))
    sorted.push_back(tensors[index]);
  tensors = std::move(sorted);
}

/// Returns the shares of all ranks that write something.
std::map<int64_t, Share>
shareOut(const std::vector<CheckpointTensor> &tensors) {
  std::map<int64_t, Share> shares;
  for (const CheckpointTensor &tensor : tensors) {
    Share &share = shares[tensor.writer];
    share.parts[static_cast<size_t>(tensor.part)].push_back(&tensor);
    share.bytes += tensor.bytes;
  }
  for (auto &[writer, share] : shares)
    for (auto &part : share.parts)
      sortAsInFile(part);
  return shares;
}

/// Appends what a piece of a tensor has of bytes [begin, end) of its writer's
/// data, window by window.
void appendPieces(std::vector<GatheredBytes> &pieces, const GatheredBytes &all,
                  int64_t begin, int64_t end) {
  const geometry::Tile &tile = all.bytes.tile;
  int64_t first = all.tensor + all.bytes.firstGlobal();
  int64_t last = all.tensor + tile.globalIndex(all.bytes.end - 1) + 1;
  int64_t round = std::max<int64_t>(first - begin, 0) / gatherBytes;
  for (int64_t at = begin + round * gatherBytes; at < std::min(end, last);
       at += gatherBytes, ++round) {
    int64_t next = std::min(end, at + gatherBytes);
    geometry::TilePart part =
        all.bytes.within(at - all.tensor, next - all.tensor);
    if (part.count() == 0)
      continue;
    GatheredBytes &piece = pieces.emplace_back(all);
    piece.from.address.base += part.begin - all.bytes.begin;
    piece.bytes = std::move(part);
    piece.round = round;
  }
}

/// Sorts pieces, which are by writer, tensor and holder, into rounds.
void sortByRound(std::vector<GatheredBytes> &pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const GatheredBytes &a, const GatheredBytes &b) {
                     return std::tuple(a.round, a.writer) <
                            std::tuple(b.round, b.writer);
                   });
}

} // namespace

ShareLayout layOutShare(const Program &program, int64_t rank, int64_t memory) {
  std::vector<CheckpointTensor> tensors = shareCheckpoint(program);
  std::map<int64_t, Share> shares = shareOut(tensors);
  auto directOf = [&](int64_t writer) {
    return std::max<int64_t>(shares[writer].bytes - memory, 0);
  };
  ShareLayout layout;
  for (const auto &[writer, share] : shares) {
    int64_t at = 0, direct = directOf(writer);
    for (const auto &part : share.parts)
      for (const CheckpointTensor *tensor : part) {
        for (const schema::TensorPiece &piece : tensor->pieces) {
          if (writer != rank && piece.rank != rank)
            continue;
          GatheredBytes all{writer,
                            piece.rank,
                            {piece.place, piece.address},
                            piece.elements.inBytes(piece.elementBytes),
                            /*tensor=*/at,
                            /*round=*/0};
          appendPieces(layout.direct, all, 0, direct);
          appendPieces(layout.copied, all, direct, share.bytes);
        }
        at += tensor->bytes;
      }
  }
  sortByRound(layout.direct);
  sortByRound(layout.copied);
  for (CheckpointPart part : kCheckpointParts) {
    ShareLayout::File &file = layout.files.emplace_back();
    file.name = checkpointFileName(part, rank);
    for (const CheckpointTensor *tensor :
         shares[rank].parts[static_cast<size_t>(part)]) {
      file.tensors.push_back(toStore(*tensor));
      file.bytes.push_back(tensor->bytes);
    }
  }
  layout.bytes = shares[rank].bytes;
  layout.directBytes = directOf(rank);
  return layout;
}

} // namespace ppopt::train
