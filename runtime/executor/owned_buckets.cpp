//===- owned_buckets.cpp - The buckets of a rank of asynchronous training -===//

#include "executor/owned_buckets.h"

#include "executor/rank.h"
#include "executor/trainers.h"

#include <cstring>

namespace ppopt::runtime {

OwnedBuckets::OwnedBuckets(ppopt_rank &rank, const StepSettings &settings)
    : rank(rank), settings(settings), owned(*rank.places.own.owned),
      trainers(int(schema::trainersOf(rank.program.plan))),
      self(int(trainerOf(rank.program.plan, rank.index))),
      inboxBytes(owned.inboxBytes(trainers)) {
  for (const schema::OwnedBucket &bucket : owned.buckets) {
    int64_t elements = bucket.elements / trainers;
    sizes.push_back({size_t(elements * byteSize(bucket.type)),
                     size_t(elements * byteSize(bucket.gradientType))});
    std::vector<void *> &list = arguments.emplace_back();
    for (const Address &argument : bucket.arguments)
      list.push_back(at(argument));
  }
}

char *OwnedBuckets::at(const Address &address) const {
  return static_cast<char *>(rank.places.at(address).opaque());
}

void *OwnedBuckets::working(int bucket, int owner) {
  return at(owned.buckets[bucket].working) +
         size_t(owner) * sizes[bucket].parameterBytes;
}

void *OwnedBuckets::gradient(int bucket, int owner) {
  return at(owned.buckets[bucket].gradients) +
         size_t(owner) * sizes[bucket].gradientBytes;
}

void *OwnedBuckets::master(int bucket) {
  return at(owned.buckets[bucket].master);
}

void *OwnedBuckets::inbox(int trainer) {
  int64_t number = trainer < self ? trainer : trainer - 1;
  return at(owned.inboxes) + number * inboxBytes;
}

/// The step that is computed meanwhile has its own state, arguments, memory and
/// counters.
void OwnedBuckets::update(int bucket, const void *gradient,
                          const asynchronous::Message &push) {
  const schema::OwnedBucket &updated = owned.buckets[bucket];
  StepSettings own = settings;
  own.learningRate = push.learningRate;
  own.updates = push.version - 1;
  ppopt_step_state state = stepStateOf(own);
  state.clip_scale = push.clipScale;
  state.hold = 0;
  std::memcpy(at(owned.stepState), &state, sizeof state);
  std::vector<void *> &list = arguments[bucket];
  // Tasks do not write to their gradient.
  list[updated.gradientArgument] = const_cast<void *>(gradient);
  rank.calls.runAside(updated.task, list.data(), at(updated.temporaries));
}

void OwnedBuckets::gather() {
  for (size_t bucket = 0; bucket < sizes.size(); ++bucket)
    std::memcpy(working(int(bucket), self), master(int(bucket)),
                sizes[bucket].parameterBytes);
  if (trainers == 1)
    return;
  std::vector<int> ranks = membersLike(rank.program.plan, rank.index);
  comm::Transport &transport = *rank.transport;
  int channel = int(rank.program.unusedChannel());
  for (size_t bucket = 0; bucket < sizes.size(); ++bucket)
    for (int distance = 1; distance < trainers; ++distance) {
      int from = (self - distance + trainers) % trainers;
      comm::Request in =
          transport.irecv(working(int(bucket), from),
                          sizes[bucket].parameterBytes, ranks[from], channel);
      comm::Request out =
          transport.isend(master(int(bucket)), sizes[bucket].parameterBytes,
                          ranks[(self + distance) % trainers], channel);
      try {
        transport.wait(in);
        transport.wait(out);
      } catch (...) {
        transport.cancel(in); // before the arena is freed
        transport.cancel(out);
        throw;
      }
    }
}

double OwnedBuckets::clipScale() const {
  ppopt_step_state state;
  std::memcpy(&state, at(rank.places.own.stepState), sizeof state);
  return state.clip_scale;
}

} // namespace ppopt::runtime
