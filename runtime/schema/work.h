//===- work.h - What a program computes and sends -------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_WORK_H
#define PPOPT_RUNTIME_SCHEMA_WORK_H

#include "geometry/collective.h"
#include "geometry/mesh.h"
#include "schema/element_type.h"
#include "schema/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::schema {

enum class TaskKind {
  prologue,
  forward,
  loss,
  backward,
  backwardInput,
  backwardWeight,
  collect,
  norm,
  decide,
  update,
  evaluation,
  average,
  open,
  commit
};
template <> struct Words<TaskKind> {
  static constexpr const char *words[] = {
      "prologue",        "forward", "loss", "backward", "backward_input",
      "backward_weight", "collect", "norm", "decide",   "update",
      "evaluation",      "average", "open", "commit"};
};

template <> struct Words<geometry::Collective> {
  static constexpr const char *words[] = {
#define COLLECTIVE(NAME, WORD, ...) WORD,
#include "geometry/collectives.def"
  };
};

struct Stage {
  static constexpr const char *title = "Stage";
  int64_t place = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("place", self.place, "where the stage lives", indexOf(List::places));
  }
};

/// A sum over the batch of what the inputs say, such as counted targets.
struct Count {
  static constexpr const char *title = "Count";
  ElementType type = ElementType::f32;
  std::string name, source;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("type", self.type, "of its one element", ofScalars);
    f("name", self.name, "what is counted");
    f("source", self.source, "where in the model");
  }
};

/// A result of the model besides its loss, computed by evaluations.
struct Metric {
  static constexpr const char *title = "Metric";
  std::string name;
  bool isRatio = false;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("ratio", self.isRatio,
      "whether it is a sum that is divided by another one, the `count` of each "
      "place; otherwise it is averaged as the loss is");
  }
};

/// A value sent from one place to another, once per microbatch or, with `step`,
/// once per step.
struct Transfer {
  static constexpr const char *title = "Transfer";
  std::string name;
  std::string value;
  int64_t from = 0, to = 0;           ///< places
  int64_t fromStage = 0, toStage = 0; ///< the stages on these places
  int64_t bytes = 0;
  ElementType type = ElementType::f32;
  bool requiresGrad = false;         ///< whether a gradient is sent back
  std::optional<int64_t> gradientOf; ///< index of its forward transfer
  bool step = false;

  int64_t elements() const { return bytes / byteSize(type); }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("value", self.value, "what is sent");
    f("from", self.from, "a place", indexOf(List::places));
    f("to", self.to, "another place", indexOf(List::places));
    f("from_stage", self.fromStage, "the stage that makes the value",
      indexOf(List::stages));
    f("to_stage", self.toStage, "the stage that reads it",
      indexOf(List::stages));
    f("bytes", self.bytes, "per microbatch, or per step", atLeast(1));
    f("type", self.type, "of its elements");
    f.optional("step", self.step,
               "sent once per step (as microbatch 0): the parameters of the "
               "bucket `value` or, in a `gradient_of`, its gradients");
    f("requires_grad", self.requiresGrad,
      "some other transfer is `gradient_of` this one");
    f("gradient_of", self.gradientOf,
      "index of the transfer whose gradient this is, or null",
      indexOf(List::transfers));
  }
};

/// What a launch of a matmul needs that is compiled for a GPU.
struct MatmulKernel {
  static constexpr const char *title = "Kernel of a matmul";
  std::string name;
  int64_t blocks = 1, threads = 1, shared = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name,
      "of a function in the device code. It takes the addresses of the first "
      "elements of A, B and C");
    f("blocks", self.blocks, "that a launch has, in one dimension", positive);
    f("threads", self.threads, "of a block", positive);
    f("shared", self.shared, "bytes that a launch gives to each block");
  }
};

struct Matmul {
  static constexpr const char *title = "Matmul";
  std::string name;
  MatmulDescriptor descriptor;
  int64_t workspace = 0;
  std::optional<MatmulKernel> kernel; ///< none: the library computes it

  template <typename V, typename T> static void visit(V &f, T &self) {
    auto &d = self.descriptor;
    f("name", self.name, "its name");
    f("type", d.type, "of A and B");
    f("c_type", d.cType, "of C: f32 if `type` is bf16, or `type`");
    f("accumulate", d.accumulate, "C += A·B");
    f("m", d.m, "rows of C", positive);
    f("n", d.n, "columns of C", positive);
    f("k", d.k, "terms of each sum", positive);
    f("batch", d.batch, "sizes of b₀, b₁", positive);
    f.nested("a", "the operand A", [&](auto &g) {
      g("strides", d.a, "in elements: of b₀, b₁, row, column");
    });
    f.nested("b", "the operand B",
             [&](auto &g) { g("strides", d.b, "likewise"); });
    f.nested("c", "the result C", [&](auto &g) {
      g("strides", d.c, "likewise; the column's is 1");
    });
    f("workspace", self.workspace,
      "bytes of scratch memory that the library asks for");
    f.optional("kernel", self.kernel,
               "if the program has code for it (plan `matmul` = `generated`): "
               "how it is launched");
  }
};

struct Kernel {
  static constexpr const char *title = "Kernel";
  std::string name;
  int64_t bytes = 0, flops = 0; ///< per launch
  std::vector<int64_t> ins, outs;
  std::optional<int64_t> threads, shared; ///< of a GPU's block

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("bytes", self.bytes,
      "per launch: read of its arguments and written of its results (a look-up "
      "reads the rows that it takes; what lies in a cache counts too)");
    f("flops", self.flops, "per launch: of the matmuls inside it", anyCount);
    f("ins", self.ins, "bytes of the buffers that it reads, in their order");
    f("outs", self.outs,
      "of those that it writes, which follow; one that it also reads is among "
      "both");
    f.optional("threads", self.threads,
               "on a GPU: of each block; a launch has a block for each tile",
               positive);
    f.optional("shared", self.shared,
               "on a GPU: bytes of memory that a launch gives to each block, "
               "beside what the code declares");
  }
};

struct Task {
  static constexpr const char *title = "Task";
  std::string name;
  TaskKind kind = TaskKind::forward;
  int64_t stage = 0; ///< -1: belongs to the place, not to a stage
  int64_t place = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("kind", self.kind,
      "`loss` runs in evaluation only. `evaluation`, where evaluations compute "
      "other values than training (metrics, states): what an evaluation runs "
      "in place of `forward` and `loss`");
    f("stage", self.stage,
      "−1 for those of a place: prologue, open, collect, norm, decide, update, "
      "commit, average",
      indexOf(List::stages, -1));
    f("place", self.place, "where it runs", indexOf(List::places));
  }
};

/// A collective that a task starts and waits for (ppopt_start). Its group has
/// ranks of the task's place only.
struct TaskCollective {
  static constexpr const char *title = "Collective of a task";
  std::string name;
  int64_t task = 0; ///< index of Program::tasks
  geometry::Collective op = geometry::Collective::AllGather;
  std::vector<std::string> axes; ///< the group: ranks that differ only in these
  int64_t channel = 0;
  int64_t elements = 0; ///< of the whole buffer
  ElementType type = ElementType::f32;
  /// Not in the document: the number of the operation on the task's place,
  /// after those of its actions (Action::operation).
  int64_t operation = 0;

  geometry::Group group() const { return {axes, {}}; }
  int64_t bytes() const { return elements * byteSize(type); }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "the bucket or the value that it works on");
    f("task", self.task, "index of `tasks`", indexOf(List::tasks));
    f("op", self.op,
      "an `all_gather` makes the whole buffer of the ranks' chunks, a "
      "`reduce_scatter` a chunk of the sum of their buffers, an `all_reduce` "
      "all of the sum, an `all_reduce_max` the maximum; an `all_to_all` puts "
      "chunk p of each member's buffer together on member p. A task has no "
      "others");
    f("axes", self.axes,
      "its group: the ranks of the place that differ in these axes only");
    f("channel", self.channel,
      "an ordered queue, which no other group has: starts on one channel "
      "happen in the same order on all ranks of its group",
      Limits{0, INT32_MAX});
    f("elements", self.elements,
      "of the whole buffer. Member p of n has chunk p, of E/n elements: an "
      "`all_gather`, a `reduce_scatter` and an `all_to_all` have no remainder",
      atLeast(1));
    f("type", self.type, "of its elements", ofSums);
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_WORK_H
