//===- nccl_events.h - What ranks in other processes must know ------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_EVENTS_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_EVENTS_H

#include "fake/nccl_request.h"

#include <string>

namespace ppopt::cuda::fake {

/// How a rank is in its communicator.
enum class Presence : int { absent, active, destroyed, aborted, gone };

/// What a rank did. All processes of a communicator keep its state by applying
/// the events of all ranks.
struct Event {
  enum class Kind : int { join, announce, issue, start, leave };
  Kind kind = Kind::join;
  int rank = 0;
  int ranks = 0;                        ///< join: how many it expects
  Presence presence = Presence::active; ///< leave
  Request request;                      ///< announce, issue
  int64_t number = 0;                   ///< start: of the call
  std::string gpu, uuid;                ///< join
  std::string where;                    ///< issue
  SentBytes sent;                       ///< start
};

std::string encode(const Event &event);
/// Returns false if the bytes are no event.
bool decode(const std::string &bytes, Event &event);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_EVENTS_H
