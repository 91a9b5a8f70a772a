//===- plan.h - How the model is put on devices ---------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_PLAN_H
#define PPOPT_RUNTIME_SCHEMA_PLAN_H

#include "geometry/mesh.h"
#include "schema/enums.h"
#include "schema/fields.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::schema {

// The enumeration of each choice (plan_options.def).
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, ...)                          \
  enum class TYPE { PPOPT_UNWRAP(WORDS) };                                     \
  template <> struct Words<TYPE> {                                             \
    static constexpr const char *words[] = {PPOPT_WORDS(WORDS)};               \
  };
#include "schema/plan_options.def"

/// The largest value of a PLAN_NUMBER.
constexpr int64_t mostPlanNumber = int64_t{1} << 30;

struct MeshAxis {
  static constexpr const char *title = "Axis";
  std::string name;
  int64_t size = 1;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("axis", self.name, "its name");
    f("size", self.size, "coordinates on it", Limits{1, mostRanks});
  }
};

/// What compiled code needs of a machine.
struct Target {
  static constexpr const char *title = "Target";
  std::string name;
  int64_t threads = 1; ///< per rank
  std::string cpu;
  std::vector<std::string> features; ///< "+avx512f", "-amx-tile"
  std::optional<std::string> gpu;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "the kind of device that ranks run on: `cpu`, `cuda`");
    f("threads", self.threads, "per rank", Limits{1, 1 << 16});
    f("cpu", self.cpu, "the processor, as LLVM names it");
    f("features", self.features, "its features, such as `+avx512f`");
    f.optional(
        "gpu", self.gpu,
        "the architecture that kernels are compiled for, such as `sm_90a`");
  }
};

struct Plan {
  static constexpr const char *title = "Plan";
  std::vector<MeshAxis> mesh; ///< major to minor
  int64_t batch = 1;          ///< rows of the global batch
  int64_t microbatches = 1;
  std::string schedule;
  std::string mixesRows; ///< why an evaluation is by whole batches, or empty
  bool byMicrobatch = false; ///< each part has rows of each microbatch
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, ...) TYPE FIELD = TYPE::DEFAULT;
#define PLAN_SWITCH(FIELD, ...) bool FIELD = false;
#define PLAN_LEVEL(FIELD, ...) int64_t FIELD = 0;
#define PLAN_NUMBER(FIELD, ...) int64_t FIELD = 0;
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, ...) int64_t FIELD = DEFAULT;
#include "schema/plan_options.def"
  Target target;

  /// Whether each coordinate on the batch's axis is a trainer of its own.
  bool isAsynchronous() const { return sync != Sync::step; }
  /// Returns the mesh with what follows from it. Allocates.
  geometry::Mesh getMesh() const;
  /// Returns the product of the mesh's sizes; 1 if the launch is local.
  int64_t ranks() const;
  /// Returns the size of an axis; 1 if the mesh does not have it.
  int64_t axisSize(std::string_view axis) const;
  /// Returns the coordinate of a rank on an axis; 0 if the mesh does not have
  /// it.
  int64_t coordinate(int64_t rank, std::string_view axis) const;
  int64_t places() const;
  int64_t placeOf(int64_t rank) const;
  /// Returns the number of parts that ranks split the rows of a batch into.
  int64_t batchParts() const;
  /// Returns the part that a rank has.
  int64_t batchPart(int64_t rank) const;
  /// Returns the rows of a part, in all microbatches.
  int64_t rowsOfPart() const { return batch / batchParts(); }
  /// Returns which row of the batch a part has as its row `row`.
  int64_t rowOfBatch(int64_t part, int64_t row) const;
  /// Returns the rows of a batch as tasks see it: those of a trainer.
  int64_t rowsOfProgram() const {
    return isAsynchronous() ? rowsOfPart() : batch;
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("mesh", self.mesh,
      "axes, major to minor: rank = ((c₀·n₁)+c₁)·n₂+…. There is always a `dp` "
      "axis, of size 1 if the plan has none");
    f("batch", self.batch, "rows of the global batch", positive);
    f("microbatches", self.microbatches, "per rank and step",
      Limits{1, mostRanks});
    f("schedule", self.schedule, "its name, or `table`");
    f.optional("mixes_rows", self.mixesRows,
               "the op of the model that mixes the rows of a batch. An "
               "evaluation is then the mean over whole batches; otherwise it "
               "is one batch of all its rows");
    f.optional("by_microbatch", self.byMicrobatch,
               "each microbatch has consecutive rows of the batch, which the "
               "ranks split; otherwise each rank has consecutive rows, which "
               "its microbatches split");
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, LATER, PLACEHOLDER,     \
                    FALLBACK, HELP, MEANING)                                   \
  f(#FIELD, self.FIELD, MEANING);
#define PLAN_SWITCH(FIELD, NAME, FLAG, HELP, MEANING)                          \
  f.optional(#FIELD, self.FIELD, MEANING);
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, PLACEHOLDER, HELP,        \
                   MEANING)                                                    \
  f.optional(#FIELD, self.FIELD, MEANING, Limits{0, MOST});
#define PLAN_NUMBER(FIELD, NAME, FLAG, WORD, MEANING)                          \
  f.optional(#FIELD, self.FIELD, MEANING, Limits{0, mostPlanNumber});
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, FALLBACK, HELP, MEANING)   \
  f.optional(#KEY, self.FIELD, MEANING, positive);
#include "schema/plan_options.def"
    f("target", self.target, "what it is compiled for");
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_PLAN_H
