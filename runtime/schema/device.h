//===- device.h - What work costs on a device -----------------------------===//
//
// The document that `ppopt machine` writes and the compiler's estimates of time
// follow (docs/devices.md). Rates are per nanosecond, times are in nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_DEVICE_H
#define PPOPT_RUNTIME_SCHEMA_DEVICE_H

#include "schema/element_type.h"
#include "schema/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::schema {

inline constexpr Limits notNegative{0, INT64_MAX};

/// Rates at the points of a grid of sizes.
struct MatmulRates {
  static constexpr const char *title = "Rates of matmuls";
  MatmulType type = MatmulType::f32;
  std::vector<int64_t> m, n, k;
  std::vector<double> rates, transposed;
  double aliased = 1;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("type", self.type, "of the operands");
    f("m", self.m, "rows of the result, in ascending order", positive);
    f("n", self.n, "columns of the result, likewise", positive);
    f("k", self.k, "terms of each sum, likewise", positive);
    f("rates", self.rates,
      "FLOPs per nanosecond for each m, n and k, the last varying fastest",
      positive);
    f("transposed", self.transposed,
      "likewise, where the first operand is transposed and the result added "
      "to: gradients of weights",
      positive);
    f("aliased", self.aliased,
      "by how much the latter slow down if the rows of the first operand are a "
      "multiple of 4096 bytes apart",
      positive);
  }
};

/// Attention's own loops.
struct AttentionRates {
  static constexpr const char *title = "Rates of attention";
  MatmulType type = MatmulType::f32;
  double forward = 0, backward = 0, scores = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("type", self.type, "of its operands");
    f("forward", self.forward, "FLOPs of its matmuls per nanosecond", positive);
    f("backward", self.backward, "those of its gradient's", positive);
    f("scores", self.scores,
      "operations on scores per nanosecond: six for each score forward, ten "
      "backward",
      positive);
  }
};

/// Everything that is computed element by element.
struct ElementRates {
  static constexpr const char *title = "Rates of elements";
  MatmulType type = MatmulType::f32;
  double elements = 0, moves = 0;
  double operation = 0, division = 0, function = 0, draw = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("type", self.type, "of the elements; integers count as f32");
    f("elements", self.elements,
      "elements of one op's result per nanosecond, the op being a single cheap "
      "operation",
      positive);
    f("moves", self.moves,
      "elements per nanosecond of an op that only moves them, such as a "
      "transpose",
      positive);
    f("operation", self.operation,
      "nanoseconds for each further cheap operation on an element",
      notNegative);
    f("division", self.division,
      "additional nanoseconds for a division or a root", notNegative);
    f("function", self.function,
      "additional nanoseconds for an exponential, a logarithm, a tanh",
      notNegative);
    f.optional("draw", self.draw,
               "nanoseconds for a random number; 0: those of the operations "
               "that draw it",
               notNegative);
  }
};

struct MemoryRate {
  static constexpr const char *title = "Rate of memory";
  int64_t bytes = 0;
  double rate = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("bytes", self.bytes, "that one launch reads and writes", positive);
    f("rate", self.rate, "bytes per nanosecond", positive);
  }
};

/// Between two ranks of one machine.
struct LinkRates {
  static constexpr const char *title = "Rates of a link";
  double latency = 0, rate = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("latency", self.latency, "nanoseconds before the first byte",
      notNegative);
    f("rate", self.rate, "bytes per nanosecond", positive);
  }
};

struct RankRates {
  static constexpr const char *title = "Rates between ranks";
  LinkRates transfer, collective;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("transfer", self.transfer, "a value that is sent to another rank");
    f("collective", self.collective, "one round of a ring: a chunk");
  }
};

/// How fast a rank computes.
struct ComputeRates {
  static constexpr const char *title = "Rates of computing";
  std::vector<MatmulRates> matmuls;
  std::vector<AttentionRates> attention;
  std::vector<ElementRates> elements;
  std::vector<MemoryRate> memory;
  double launch = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("matmuls", self.matmuls, "one for each of f32, f64 and bf16");
    f("attention", self.attention, "likewise");
    f("elements", self.elements, "likewise");
    f("memory", self.memory, "by how much a launch touches, ascending");
    f("launch", self.launch, "nanoseconds that each launch adds", notNegative);
  }
};

/// What launches of a GPU share out.
struct Multiprocessors {
  static constexpr const char *title = "Multiprocessors";
  int64_t count = 0;
  double tile = 0;
  int64_t collective = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("count", self.count,
      "among which a library deals out the tiles of a matmul; the rates of "
      "matmuls are those of tiles that keep all of them busy",
      positive);
    f("tile", self.tile,
      "nanoseconds of a tile of a matmul before and after its terms",
      notNegative);
    f("collective", self.collective,
      "of these, how many a collective takes while it runs", notNegative);
  }
};

struct Device : ComputeRates {
  static constexpr const char *title = "Device";
  static constexpr int64_t currentVersion = 2;
  int64_t version = currentVersion;
  std::string name, model;
  int64_t threads = 1;
  bool roofline = false;
  std::optional<Multiprocessors> multiprocessors;
  std::optional<RankRates> processes;
  RankRates localThreads;
  std::optional<ComputeRates> busy;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("version", self.version, "of these fields: 2");
    f("name", self.name, "what `--device` calls it");
    f("model", self.model, "the processor's model, as the system names it");
    f("threads", self.threads, "of the rank that was measured", positive);
    ComputeRates::visit(f, self);
    f.optional("roofline", self.roofline,
               "whether a launch computes while it reads and writes, as a GPU "
               "does, and takes as long as the slower of both, not their sum");
    f.optional("multiprocessors", self.multiprocessors, "of a GPU");
    f("processes", self.processes,
      "between ranks that are processes; null where MPI was not found");
    f("local_threads", self.localThreads, "between ranks that are threads");
    f("busy", self.busy,
      "the rates while all ranks that the machine has room for compute at "
      "once; null where it has room for one");
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_DEVICE_H
