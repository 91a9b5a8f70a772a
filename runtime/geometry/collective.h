//===- collective.h - Chunks and messages of ring collectives -------------===//
//
// A collective over n ranks cuts a buffer of E elements into n chunks, one per
// member: chunk i has floor(E/n) elements, and one more if i < E mod n.
//
// Elements that the member at position p sends:
//   reduce-scatter  E - |chunk p|
//   all-gather      E - |chunk p+1|
//   all-reduce      2E - |chunk p| - |chunk p+1|
//   broadcast       E, and the last member nothing
//   all-to-all      E - |chunk p|, one chunk to each other member
// An all-reduce is of sums or of maxima. The first three are (n-1)/n·E,
// (n-1)/n·E and 2(n-1)/n·E if n divides E. Empty chunks are not sent. With n =
// 1 nothing is sent.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_GEOMETRY_COLLECTIVE_H
#define PPOPT_GEOMETRY_COLLECTIVE_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace ppopt::geometry {

enum class Collective {
#define COLLECTIVE(NAME, ...) NAME,
#include "geometry/collectives.def"
};

/// How the IR and documents spell each kind, and what people read.
inline constexpr const char *collectiveWords[] = {
#define COLLECTIVE(NAME, WORD, ...) WORD,
#include "geometry/collectives.def"
};
inline constexpr const char *collectiveNouns[] = {
#define COLLECTIVE(NAME, WORD, NOUN, ...) NOUN,
#include "geometry/collectives.def"
};

constexpr const char *wordOf(Collective kind) {
  return collectiveWords[static_cast<int>(kind)];
}
constexpr const char *nounOf(Collective kind) {
  return collectiveNouns[static_cast<int>(kind)];
}

/// Returns how traces name a collective; `of` says over whom, and of what. An
/// all-reduce is named for these alone.
inline std::string nameInTrace(Collective kind, const std::string &of) {
  return kind == Collective::AllReduce ? of : nounOf(kind) + (" " + of);
}

/// Returns the kind that a word spells.
constexpr std::optional<Collective> parseCollective(std::string_view word) {
  for (size_t i = 0; i < std::size(collectiveWords); ++i)
    if (word == collectiveWords[i])
      return static_cast<Collective>(i);
  return std::nullopt;
}

/// Returns whether members add what they receive, or take the larger.
constexpr bool reduces(Collective kind) {
  constexpr bool adds[] = {
#define COLLECTIVE(NAME, WORD, NOUN, REDUCES) REDUCES,
#include "geometry/collectives.def"
  };
  return adds[static_cast<int>(kind)];
}
constexpr bool isAllReduce(Collective kind) {
  return kind == Collective::AllReduce || kind == Collective::AllReduceMax;
}
/// Returns whether chunks go round from the members that own them.
constexpr bool gathers(Collective kind) {
  return isAllReduce(kind) || kind == Collective::AllGather;
}
/// Returns whether a member needs scratch memory beside its result: a
/// reduce-scatter uses the result's.
constexpr bool hasScratch(Collective kind) {
  return isAllReduce(kind) || kind == Collective::AllToAll;
}
/// Returns whether what a member gives, or what it gets, is one chunk.
constexpr bool isOfOneChunk(Collective kind) {
  return kind == Collective::AllGather || kind == Collective::ReduceScatter;
}

/// Returns the first element of chunk `i` of n; `i` = n gives `elements`.
constexpr int64_t chunkBegin(int64_t elements, int64_t n, int64_t i) {
  int64_t remainder = elements % n;
  return elements / n * i + (i < remainder ? i : remainder);
}

constexpr int64_t chunkSize(int64_t elements, int64_t n, int64_t i) {
  return chunkBegin(elements, n, i + 1) - chunkBegin(elements, n, i);
}

/// Returns the elements of the largest chunk.
constexpr int64_t largestChunk(int64_t elements, int64_t n) {
  return chunkSize(elements, n, 0);
}

/// Returns the elements of scratch memory that a member needs: one chunk if the
/// collective adds what it receives, or exchanges chunks.
constexpr int64_t scratchElements(Collective kind, int64_t elements,
                                  int64_t n) {
  bool needsChunk = reduces(kind) || kind == Collective::AllToAll;
  return n > 1 && needsChunk ? largestChunk(elements, n) : 0;
}

/// Returns the elements that the member at `position` sends.
constexpr int64_t elementsSent(Collective kind, int64_t elements, int64_t n,
                               int64_t position) {
  if (n == 1)
    return 0;
  if (kind == Collective::Broadcast)
    return position + 1 < n ? elements : 0;
  int64_t sent = 0;
  if (reduces(kind) || kind == Collective::AllToAll)
    sent += elements - chunkSize(elements, n, position);
  if (gathers(kind))
    sent += elements - chunkSize(elements, n, (position + 1) % n);
  return sent;
}

/// Returns the rounds that follow one another, in each of which every member
/// sends at most one chunk.
constexpr int64_t rounds(Collective kind, int64_t n) {
  if (kind == Collective::Broadcast)
    return 2 * (n - 1);
  if (kind == Collective::AllToAll)
    return n > 1 ? n - 1 + n % 2 : 0;
  return (reduces(kind) + gathers(kind)) * (n - 1);
}

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_COLLECTIVE_H
