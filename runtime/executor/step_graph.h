//===- step_graph.h - Steps that the device repeats by itself -------------===//
//
// The operations of a step are the same in each step: what changes lies in the
// memory of the device (step state, keys, inputs). So a device that can
// captures them once, and runs them again with one call.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STEP_GRAPH_H
#define PPOPT_RUNTIME_EXECUTOR_STEP_GRAPH_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

struct ppopt_rank;

namespace ppopt::runtime {

class StepGraph {
public:
  /// Returns why the steps of a rank are launched operation by operation; empty
  /// if they are a graph, or if the device has none.
  static std::string whyNot(const ppopt_rank &rank);

  /// Runs `enqueue`, which enqueues a step's operations, or what it enqueued
  /// before. The first step is not captured: libraries prepare themselves. If
  /// a rank can't capture a step, all run this one and the following ones
  /// operation by operation: what NCCL does is in a graph on all ranks or on
  /// none. Returns whether it launched a graph.
  bool run(ppopt_rank &rank, const std::function<void()> &enqueue);

  /// Returns, once and on rank 0, that there is no graph, and why; else
  /// nothing.
  std::string takeNote() { return std::exchange(note, {}); }

private:
  /// Returns why this rank has no graph; empty if it has one.
  std::string capture(ppopt_rank &rank, const std::function<void()> &enqueue);
  /// Called by all ranks with their reason. Returns whether all have a graph.
  bool agree(ppopt_rank &rank, const std::string &why);

  int64_t eagerSteps = 0;
  int graph = -1;
  bool hasFailed = false; ///< on some rank
  std::string note;
  // Of a step, counted when captured.
  int64_t launches = 0, flops = 0, bytesSent = 0;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STEP_GRAPH_H
