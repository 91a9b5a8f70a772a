//===- access_map.cpp - Who last read and wrote each byte -----------------===//

#include "device/fake/access_map.h"

#include <algorithm>
#include <iterator>

namespace ppopt::fake {

void AccessMap::splitAt(uintptr_t address) {
  auto after = pieces.upper_bound(address);
  if (after == pieces.begin())
    return;
  auto piece = std::prev(after);
  if (piece->first == address || piece->second.end <= address)
    return;
  Piece rest = piece->second;
  piece->second.end = address;
  pieces.emplace_hint(after, address, std::move(rest));
}

void AccessMap::fillGaps(uintptr_t begin, uintptr_t end) {
  auto next = pieces.lower_bound(begin);
  while (begin < end) {
    if (next != pieces.end() && next->first == begin) {
      begin = next->second.end;
      ++next;
      continue;
    }
    uintptr_t gapEnd =
        next == pieces.end() ? end : std::min<uintptr_t>(end, next->first);
    pieces.emplace_hint(next, begin, Piece{gapEnd, std::nullopt, {}});
    begin = gapEnd;
  }
}

std::optional<Race> AccessMap::add(const Operation &operation,
                                   const Access &access, const Clocks &clocks) {
  if (access.bytes <= 0)
    return std::nullopt;
  splitAt(access.begin);
  splitAt(access.end());
  fillGaps(access.begin, access.end());

  auto isUnordered = [&](const Operation &other) {
    return !clocks.isBefore(other.stream, other.number, operation.stream);
  };
  auto isSeen = [&](const Operation &other) {
    return clocks.isSeenByHost(other.stream, other.number);
  };
  auto first = pieces.lower_bound(access.begin);
  auto last = pieces.lower_bound(access.end());
  for (auto each = first; each != last; ++each) {
    Piece &piece = each->second;
    if (piece.write && isUnordered(*piece.write))
      return Race{*piece.write,  operation,   true,
                  access.writes, each->first, piece.end};
    if (access.writes)
      for (const Operation &read : piece.reads)
        if (isUnordered(read))
          return Race{read, operation, false, true, each->first, piece.end};
  }
  if (access.writes) {
    pieces.erase(first, last);
    pieces[access.begin] = {access.end(), operation, {}};
    return std::nullopt;
  }
  for (auto each = first; each != last; ++each) {
    std::vector<Operation> &reads = each->second.reads;
    reads.erase(std::remove_if(reads.begin(), reads.end(),
                               [&](const Operation &read) {
                                 return read.stream == operation.stream ||
                                        isSeen(read);
                               }),
                reads.end());
    reads.push_back(operation);
  }
  return std::nullopt;
}

template <typename Test>
bool AccessMap::hasPiece(uintptr_t begin, int64_t bytes,
                         const Test &test) const {
  auto each = pieces.upper_bound(begin);
  if (each != pieces.begin())
    --each;
  for (; each != pieces.end() && each->first < begin + bytes; ++each)
    if (each->second.end > begin && test(each->second))
      return true;
  return false;
}

bool AccessMap::isWritten(uintptr_t begin, int64_t bytes,
                          const Clocks &clocks) const {
  return hasPiece(begin, bytes, [&](const Piece &piece) {
    return piece.write &&
           !clocks.isSeenByHost(piece.write->stream, piece.write->number);
  });
}

bool AccessMap::isInUse(uintptr_t begin, int64_t bytes,
                        const Clocks &clocks) const {
  auto isUnseen = [&](const Operation &other) {
    return !clocks.isSeenByHost(other.stream, other.number);
  };
  return hasPiece(begin, bytes, [&](const Piece &piece) {
    return (piece.write && isUnseen(*piece.write)) ||
           std::any_of(piece.reads.begin(), piece.reads.end(), isUnseen);
  });
}

} // namespace ppopt::fake
