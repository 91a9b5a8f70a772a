//===- activity_words.h - What a rank is doing, in words ------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_ACTIVITY_WORDS_H
#define PPOPT_RUNTIME_EXECUTOR_ACTIVITY_WORDS_H

#include "comm/activity.h"

#include <string>

struct ppopt_rank;

namespace ppopt::runtime {

/// Returns, for example, "step 12, waits 10.1 s for rank 1: recv x0 (s0.v3) of
/// microbatch 3 (action 17 of 40, after backward of stage 1)", or "…: the
/// all-gather of b0, 640 elements over ranks 0, 1, in backward of stage 1,
/// microbatch 3 (action 18 of 40)". Reads only what
/// is constant while the rank lives, so any thread may call it.
std::string describeActivity(const ppopt_rank &rank,
                             const comm::Activity::State &state);

/// While it lives, the watch describes the rank in these words.
class ActivityWords {
public:
  explicit ActivityWords(const ppopt_rank &rank);
  ~ActivityWords();
  ActivityWords(const ActivityWords &) = delete;
  ActivityWords &operator=(const ActivityWords &) = delete;

private:
  comm::Activity *const activity;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_ACTIVITY_WORDS_H
