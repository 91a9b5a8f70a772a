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

/// Appends bytes [begin, end) of `all`, in pieces that end at multiples of
/// gatherBytes after `origin`.
void appendPieces(std::vector<GatheredBytes> &pieces, const GatheredBytes &all,
                  int64_t begin, int64_t end, int64_t origin) {
  while (begin < end) {
    int64_t at = all.at + begin - origin;
    int64_t next = std::min(end, begin + gatherBytes - at % gatherBytes);
    GatheredBytes &piece = pieces.emplace_back(all);
    piece.from.address.base += begin;
    piece.at += begin;
    piece.bytes = next - begin;
    begin = next;
  }
}

/// Sorts pieces into rounds; `origin(writer)` is where its data begins.
template <typename Origin>
void sortByRound(std::vector<GatheredBytes> &pieces, const Origin &origin) {
  auto key = [&](const GatheredBytes &piece) {
    return std::tuple((piece.at - origin(piece.writer)) / gatherBytes,
                      piece.writer, piece.at);
  };
  std::sort(pieces.begin(), pieces.end(),
            [&](const GatheredBytes &a, const GatheredBytes &b) {
              return key(a) < key(b);
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
        for (const TensorPiece &piece : tensor->pieces) {
          if (writer != rank && piece.rank != rank)
            continue;
          GatheredBytes all{writer, piece.rank, piece.address, at + piece.begin,
                            piece.bytes};
          int64_t cut = std::clamp<int64_t>(direct - all.at, 0, all.bytes);
          appendPieces(layout.direct, all, 0, cut, /*origin=*/0);
          appendPieces(layout.copied, all, cut, all.bytes, direct);
        }
        at += tensor->bytes;
      }
  }
  sortByRound(layout.direct, [](int64_t) { return int64_t{0}; });
  sortByRound(layout.copied, directOf);
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
