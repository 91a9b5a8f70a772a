//===- nccl_launch.h - Operations of NCCL in streams ----------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_LAUNCH_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_LAUNCH_H

#include "fake/nccl_ranks.h"

namespace ppopt::cuda::fake {

/// Bytes by address or by storage.
struct Bytes {
  uintptr_t begin = 0;
  size_t size = 0;

  uintptr_t end() const { return begin + size; }
  bool overlaps(const Bytes &other) const {
    return size && other.size && begin < other.end() && other.begin < end();
  }
};

/// A call and its buffers.
struct Part {
  Request request;
  Bytes sent, received; ///< addresses
  char *sentStorage = nullptr, *receivedStorage = nullptr;
};

/// Finds the buffers of a call of a rank. Refuses those that are not within one
/// allocation each, not aligned, or overlap otherwise than in place.
Part makePart(const RankGroup &group, int rank, const Request &request,
              const void *send, void *receive);

/// Adds calls of one rank to streams, as one operation: they start together,
/// and what the streams get later comes after all of them.
void launch(RankGroup &group, int rank, std::vector<Part> parts,
            const std::vector<FakeStream *> &streams);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_LAUNCH_H
