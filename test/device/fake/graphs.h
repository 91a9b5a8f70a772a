//===- graphs.h - Work that is captured -----------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_GRAPHS_H
#define PPOPT_TEST_DEVICE_FAKE_GRAPHS_H

#include "fake/machine.h"

#include <thread>

namespace ppopt::cuda::fake {

/// Work of a graph, and the nodes that it comes after.
struct Node {
  WorkRef work;
  std::string where;
  std::vector<int> after;
};

struct Capture {
  FakeStream *origin = nullptr;
  Stream originHandle = nullptr;
  std::thread::id thread;
  bool isInvalid = false;
  std::vector<Node> nodes;

  int add(WorkRef work, std::string where, std::vector<int> after) {
    nodes.push_back({std::move(work), std::move(where), std::move(after)});
    return int(nodes.size()) - 1;
  }
};

struct FakeGraph {
  std::vector<Node> nodes;
  int64_t thread = 0; ///< that made it
};

struct FakeGraphExec {
  std::vector<Node> nodes;
  int64_t thread = 0;             ///< that made it
  std::vector<OperationRef> last; ///< of the last launch
};

/// A graph, instantiated or not.
struct GraphName {
  std::string text; ///< "the instantiated graph 0x56000010"
  int64_t thread = 0;
};

/// Returns a graph that has work of an owner, if there is one.
PPOPT_FAKE_EXPORT std::optional<GraphName> findGraphOf(const void *owner);

/// Refuses a call that must not be made while this thread captures, and makes
/// the capture invalid.
PPOPT_FAKE_EXPORT void checkNotCapturing(const char *symbol);

/// Refuses a call that must not be made for a stream that is captured.
void checkNotCaptured(FakeStream &stream, const char *symbol);

/// Lets the next operation of a stream come after what an event has recorded.
/// If that is captured, the stream becomes a part of the capture.
void waitForEvent(Machine &machine, FakeStream &stream, const FakeEvent &event);

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_GRAPHS_H
