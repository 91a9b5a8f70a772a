//===- clocks.h - What is complete before what ----------------------------===//
//
// Vector clocks of a device's streams, its events and the host. A clock says
// for each stream how many of its operations are complete at some point. They
// follow from the calls alone, not from when operations ran.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_FAKE_CLOCKS_H
#define PPOPT_TEST_FAKE_CLOCKS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppopt::fake {

/// Operations complete, by stream; zeros beyond its end.
using Clock = std::vector<int64_t>;

inline void join(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (size_t stream = 0; stream < other.size(); ++stream)
    clock[stream] = std::max(clock[stream], other[stream]);
}

class Clocks {
public:
  int addStream() {
    streams.emplace_back();
    return int(streams.size()) - 1;
  }
  int addEvent() {
    events.emplace_back();
    return int(events.size()) - 1;
  }

  /// Adds an operation to a stream and returns its number, from 1.
  int64_t add(int stream) {
    Clock &clock = streams[stream];
    join(clock, host);
    if (clock.size() < streams.size())
      clock.resize(streams.size());
    return ++clock[stream];
  }
  void record(int event, int stream) { events[event] = streams[stream]; }
  void wait(int stream, int event) { join(streams[stream], events[event]); }
  void synchronize(int stream) { join(host, streams[stream]); }

  /// Returns whether operation `number` of `other` is complete before the last
  /// one added to `stream` begins, or is that one.
  bool isBefore(int other, int64_t number, int stream) const {
    return at(streams[stream], other) >= number;
  }
  /// Returns whether the host knows that an operation is complete.
  bool isSeenByHost(int stream, int64_t number) const {
    return at(host, stream) >= number;
  }
  bool hostSeesAll() const {
    for (size_t stream = 0; stream < streams.size(); ++stream)
      if (at(host, int(stream)) < at(streams[stream], int(stream)))
        return false;
    return true;
  }

private:
  static int64_t at(const Clock &clock, int stream) {
    return size_t(stream) < clock.size() ? clock[stream] : 0;
  }

  std::vector<Clock> streams, events;
  Clock host;
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_CLOCKS_H
