//===- action.h - What a rank does, one after another ---------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_ACTION_H
#define PPOPT_RUNTIME_SCHEMA_ACTION_H

#include "geometry/collective.h"
#include "geometry/mesh.h"
#include "schema/address.h"
#include "schema/element_type.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::schema {

enum class ActionKind { run, zero, start, wait };
template <> struct Words<ActionKind> {
  static constexpr const char *words[] = {"run", "zero", "start", "wait"};
};

/// What `start` starts: a collective over a group, or one end of a transfer.
enum class Operation {
#define COLLECTIVE(NAME, ...) NAME,
#include "geometry/collectives.def"
  send,
  recv
};
template <> struct Words<Operation> {
  static constexpr const char *words[] = {
#define COLLECTIVE(NAME, WORD, ...) WORD,
#include "geometry/collectives.def"
      "send", "recv"};
};
constexpr bool isTransfer(Operation operation) {
  return operation == Operation::send || operation == Operation::recv;
}

struct DeadRange {
  static constexpr const char *title = "Dead range";
  Address begin;
  int64_t bytes = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("bytes", self.bytes, "its size");
    f("offset", self.begin, "where it begins", memory(self.bytes, 1));
  }
};

struct Action {
  static constexpr const char *title = "Action";
  ActionKind kind = ActionKind::run;
  int64_t place = 0; ///< the place whose arena the offsets refer to
  std::vector<DeadRange> dead;
  bool beginsPart = false; ///< of an evaluation
  // run
  int64_t task = 0;       ///< index of Program::tasks
  int64_t microbatch = 0; ///< also of start of a transfer
  std::vector<Address> arguments;
  Address temporaries;
  // zero, start
  Address address;
  int64_t bytes = 0;
  // start; a wait has the same `op` and `operation` once it is read
  int64_t id = 0;
  Operation op = Operation::AllReduce;
  std::vector<std::string> axes; ///< the group: ranks that differ only in these
  std::vector<int64_t> among;    ///< if not empty: only ranks of these places
  int64_t channel = 0;
  int64_t elements = 0;
  ElementType type = ElementType::f32;
  Address scratch;
  int64_t scratchBytes = 0;
  int64_t transfer = 0; ///< index of Program::transfers
  int64_t peer = 0;     ///< the place at the other end
  // wait
  bool carried = false; ///< for the start of an earlier step, if in flight
  /// Not in the document: the number of the operation in its lists, in the
  /// order of the starts in `actions`, then `evalActions`.
  int64_t operation = 0;

  geometry::Group group() const { return {axes, among}; }
  /// Of a collective.
  geometry::Collective collective() const {
    return static_cast<geometry::Collective>(op);
  }
  bool startsCollective() const {
    return kind == ActionKind::start && !isTransfer(op);
  }
  bool startsTransfer() const {
    return kind == ActionKind::start && isTransfer(op);
  }
  /// Whether an evaluation does it once, and not for each of its batches.
  bool isOncePerEvaluation() const {
    return kind == ActionKind::zero ||
           ((kind == ActionKind::start || kind == ActionKind::wait) &&
            !carried && !isTransfer(op));
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    auto of = [&](ActionKind kind, const char *label, auto declare) {
      f.when(self.kind == kind, label, [&](auto &g) { declare(g, self); });
    };
    f("do", self.kind, "what to do");
    f.optional(
        "place", self.place,
        "in `local` only: the place that does it, whose arena the offsets "
        "mean",
        arena());
    of(ActionKind::run, "`run`: calls the task",
       [](auto &g, T &run) { visitRun(g, run); });
    of(ActionKind::zero, "`zero`: fills with zeros",
       [](auto &g, T &zero) { visitZero(g, zero); });
    of(ActionKind::start,
       "`start`: begins a collective or one end of a transfer",
       [](auto &g, T &start) { visitStart(g, start); });
    of(ActionKind::wait,
       "`wait`: afterwards the collective's buffer holds its result; a sent "
       "value may be overwritten; a received value is there. In `local` all "
       "ends are started before",
       [](auto &g, T &wait) {
         g("id", wait.id, "that of the start");
         g.optional("carried", wait.carried,
                    "the start is in `actions`, and a step before began it. "
                    "If it is not in flight, there is nothing to wait for");
       });
    f.optional(
        "begins_part", self.beginsPart,
        "in `eval_actions`: all batches of the evaluation have done what "
        "precedes it. In each part, zeroing and collectives come first "
        "and are done once; each batch then does the other actions");
    f.optional("dead", self.dead,
               "memory that nobody reads after the action. With `--poison` the "
               "runtime overwrites it with bytes 0xFF (floats: NaN)");
  }

private:
  template <typename V, typename T> static void visitRun(V &f, T &self) {
    f("task", self.task, "index of `tasks`", indexOf(List::tasks));
    f("microbatch", self.microbatch, "its number", indexOf(List::microbatches));
    f("args", self.arguments, "where each operand of the task lies");
    f("temps", self.temporaries, "where its temporaries lie", memory(0));
  }

  template <typename V, typename T> static void visitZero(V &f, T &self) {
    f("bytes", self.bytes, "its size");
    f("offset", self.address, "of the range", memory(self.bytes, 1));
  }

  template <typename V, typename T> static void visitStart(V &f, T &self) {
    f("id", self.id, "unique in the list");
    f("op", self.op, "what begins");
    f("channel", self.channel,
      "an ordered queue: starts on one channel happen in the same order on all "
      "ranks of its group",
      Limits{0, INT32_MAX});
    f.when(!isTransfer(self.op), "a collective",
           [&](auto &g) { visitCollective(g, self); });
    f.when(isTransfer(self.op), "a transfer",
           [&](auto &g) { visitTransfer(g, self); });
  }

  template <typename V, typename T> static void visitCollective(V &f, T &self) {
    f("axes", self.axes, "its group: the ranks that differ in these axes only");
    f.optional("among", self.among,
               "coordinates on `pp`: only ranks of these places",
               indexOf(List::places));
    f("elements", self.elements,
      "of the whole buffer. Member p of n owns chunk p "
      "(runtime/geometry): what a reduce-scatter leaves there, and what an "
      "all-gather takes from there",
      atLeast(1));
    f("type", self.type, "of its elements", ofSums);
    f("offset", self.address, "of the buffer, which it works on in place",
      memory(self.elements * byteSize(self.type), byteSize(self.type)));
    f.nested("scratch",
             "a receive buffer of ceil(elements/n) elements; in `local` none",
             [&](auto &g) {
               g("bytes", self.scratchBytes, "its size");
               g("offset", self.scratch,
                 "in region `communication` or, if no task runs until the "
                 "wait, in memory of activations that nobody reads then",
                 memory(self.scratchBytes, byteSize(self.type)));
             });
  }

  template <typename V, typename T> static void visitTransfer(V &f, T &self) {
    f("transfer", self.transfer, "index of `transfers`",
      indexOf(List::transfers));
    f("microbatch", self.microbatch, "its number", indexOf(List::microbatches));
    f("peer", self.peer,
      "the place at the other end: of its ranks the one with this rank's other "
      "coordinates",
      indexOf(List::places));
    f("bytes", self.bytes, "of the value");
    f("offset", self.address, "where it lies", memory(self.bytes));
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_ACTION_H
