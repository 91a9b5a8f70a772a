//===- nccl_request.h - What a call of NCCL asks for ----------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_REQUEST_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_REQUEST_H

#include "device/cuda/nccl_api.h"

#include <memory>
#include <string>
#include <vector>

namespace ppopt::cuda::fake {

/// Bytes that a rank sends; null: none.
using SentBytes = std::shared_ptr<const std::vector<char>>;

/// A collective or a transfer, without its buffers.
struct Request {
  enum class Kind : int { allReduce, reduceScatter, allGather, send, receive };
  Kind kind = Kind::allReduce;
  NcclType type = NcclType::f32;
  NcclReduction reduction = NcclReduction::sum;
  int peer = -1;      ///< of a transfer
  uint64_t count = 0; ///< elements, as the call counts them

  bool isTransfer() const {
    return kind == Kind::send || kind == Kind::receive;
  }
  bool isReduction() const {
    return kind == Kind::allReduce || kind == Kind::reduceScatter;
  }
  /// Those of `count` elements.
  size_t bytes() const;
  /// Those of the buffers of a rank in a communicator of `ranks`; 0: none.
  size_t sentBytes(int ranks) const;
  size_t receivedBytes(int ranks) const;
  /// "ncclAllReduce of 4 f32 (sum)", "ncclSend of 4 f32 to rank 1"
  std::string describe() const;
};

/// The function's name.
const char *symbolOf(Request::Kind kind);

/// The bytes of an element; 0 if the type is none that is here.
size_t bytesOf(NcclType type);
bool isKnown(NcclReduction reduction);

/// Returns in what the requests of two ranks differ that must not, or "".
/// Of transfers one is a send, and the other its receive.
std::string findDifference(const Request &a, const Request &b);

/// Returns what a rank receives of a collective in which rank r sent
/// `sent[r]`. Of a reduction, the bits depend on the ranks' numbers: an element
/// is added around the ring, and ends at the rank that owns its chunk.
std::vector<char> resultOf(const Request &request,
                           const std::vector<SentBytes> &sent, int rank);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_REQUEST_H
