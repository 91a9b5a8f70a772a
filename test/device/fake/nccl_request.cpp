//===- nccl_request.cpp - What a call of NCCL asks for --------------------===//

#include "fake/nccl_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace ppopt::cuda::fake {
namespace {

/// A brain float.
struct BFloat {
  uint16_t bits;

  float widen() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  /// To nearest even.
  static BFloat round(float value) {
    if (std::isnan(value))
      return {0x7fff};
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    return {uint16_t((wide + 0x7fff + (wide >> 16 & 1)) >> 16)};
  }
};

template <typename Element> Element add(Element a, Element b) {
  if constexpr (std::is_integral_v<Element>) {
    using Unsigned = std::make_unsigned_t<Element>;
    return Element(Unsigned(a) + Unsigned(b));
  } else {
    return a + b;
  }
}
BFloat add(BFloat a, BFloat b) { return BFloat::round(a.widen() + b.widen()); }

/// As NCCL's: of a NaN and a number it is the number.
template <typename Element> Element larger(Element a, Element b) {
  if constexpr (std::is_integral_v<Element>)
    return std::max(a, b);
  else
    return std::fmax(a, b);
}
BFloat larger(BFloat a, BFloat b) {
  return BFloat::round(std::fmax(a.widen(), b.widen()));
}

/// Reduces `count` elements of each rank from element `begin` on. The element
/// i belongs to the chunk of rank (i - begin) / chunk + owner.
template <typename Element>
std::vector<char> reduce(const Request &request,
                         const std::vector<SentBytes> &sent, size_t begin,
                         size_t chunk, size_t owner) {
  size_t ranks = sent.size();
  std::vector<char> result(request.count * sizeof(Element));
  auto load = [&](size_t rank, size_t at) {
    Element element;
    std::memcpy(&element, sent[rank]->data() + (begin + at) * sizeof(Element),
                sizeof element);
    return element;
  };
  for (size_t i = 0; i < request.count; ++i) {
    size_t last = owner + i / chunk;
    Element sum = load((last + 1) % ranks, i);
    for (size_t step = 2; step <= ranks; ++step) {
      Element next = load((last + step) % ranks, i);
      sum = request.reduction == NcclReduction::sum ? add(sum, next)
                                                    : larger(sum, next);
    }
    std::memcpy(result.data() + i * sizeof(Element), &sum, sizeof sum);
  }
  return result;
}

std::vector<char> reduce(const Request &request,
                         const std::vector<SentBytes> &sent, size_t begin,
                         size_t chunk, size_t owner) {
  switch (request.type) {
  case NcclType::bytes:
    return reduce<int8_t>(request, sent, begin, chunk, owner);
  case NcclType::i32:
    return reduce<int32_t>(request, sent, begin, chunk, owner);
  case NcclType::i64:
    return reduce<int64_t>(request, sent, begin, chunk, owner);
  case NcclType::f32:
    return reduce<float>(request, sent, begin, chunk, owner);
  case NcclType::f64:
    return reduce<double>(request, sent, begin, chunk, owner);
  case NcclType::bf16:
    return reduce<BFloat>(request, sent, begin, chunk, owner);
  }
  return {};
}

const char *nameOf(NcclType type) {
  switch (type) {
  case NcclType::bytes:
    return "bytes";
  case NcclType::i32:
    return "i32";
  case NcclType::i64:
    return "i64";
  case NcclType::f32:
    return "f32";
  case NcclType::f64:
    return "f64";
  case NcclType::bf16:
    return "bf16";
  }
  return "?";
}

} // namespace

const char *symbolOf(Request::Kind kind) {
  static const char *const names[] = {"ncclAllReduce", "ncclReduceScatter",
                                      "ncclAllGather", "ncclSend", "ncclRecv"};
  return names[int(kind)];
}

size_t bytesOf(NcclType type) {
  switch (type) {
  case NcclType::bytes:
    return 1;
  case NcclType::i32:
  case NcclType::f32:
    return 4;
  case NcclType::i64:
  case NcclType::f64:
    return 8;
  case NcclType::bf16:
    return 2;
  }
  return 0;
}

bool isKnown(NcclReduction reduction) {
  return reduction == NcclReduction::sum || reduction == NcclReduction::max;
}

size_t Request::bytes() const { return count * bytesOf(type); }

size_t Request::sentBytes(int ranks) const {
  if (kind == Kind::receive)
    return 0;
  return kind == Kind::reduceScatter ? bytes() * size_t(ranks) : bytes();
}

size_t Request::receivedBytes(int ranks) const {
  if (kind == Kind::send)
    return 0;
  return kind == Kind::allGather ? bytes() * size_t(ranks) : bytes();
}

std::string Request::describe() const {
  std::string text =
      fmt::format("{} of {} {}", symbolOf(kind), count, nameOf(type));
  if (isReduction())
    text += reduction == NcclReduction::sum ? " (sum)" : " (max)";
  if (isTransfer())
    text +=
        fmt::format(" {} rank {}", kind == Kind::send ? "to" : "from", peer);
  return text;
}

std::string findDifference(const Request &a, const Request &b) {
  if (!a.isTransfer() && a.kind != b.kind)
    return "operations";
  if (a.count != b.count)
    return "counts";
  if (a.type != b.type)
    return "types";
  if (a.isReduction() && a.reduction != b.reduction)
    return "reductions";
  return "";
}

std::vector<char> resultOf(const Request &request,
                           const std::vector<SentBytes> &sent, int rank) {
  size_t ranks = sent.size();
  switch (request.kind) {
  case Request::Kind::allReduce:
    return reduce(request, sent, 0, (request.count + ranks - 1) / ranks, 0);
  case Request::Kind::reduceScatter:
    return reduce(request, sent, size_t(rank) * request.count, request.count,
                  size_t(rank));
  case Request::Kind::allGather: {
    std::vector<char> all;
    for (const SentBytes &each : sent)
      all.insert(all.end(), each->begin(), each->end());
    return all;
  }
  case Request::Kind::send:
  case Request::Kind::receive:
    break;
  }
  return {};
}

} // namespace ppopt::cuda::fake
