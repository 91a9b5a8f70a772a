//===- plan.h - How the model is put on devices ---------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_PLAN_H
#define PPOPT_RUNTIME_SCHEMA_PLAN_H

#include "schema/enums.h"
#include "schema/fields.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::schema {

enum class Launch { ranks, local };
template <> struct Words<Launch> {
  static constexpr const char *words[] = {"ranks", "local"};
};

enum class Tied { sum, owner };
template <> struct Words<Tied> {
  static constexpr const char *words[] = {"sum", "owner"};
};

struct MeshAxis {
  static constexpr const char *title = "Axis";
  std::string name;
  int64_t size = 1;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("axis", self.name, "its name");
    f("size", self.size, "coordinates on it", Limits{1, mostRanks});
  }
};

struct Plan {
  static constexpr const char *title = "Plan";
  std::vector<MeshAxis> mesh; ///< major to minor
  int64_t batch = 1;          ///< rows of the global batch
  int64_t microbatches = 1;
  std::string schedule;
  Launch launch = Launch::ranks;
  Tied tied = Tied::sum;
  std::string recompute;
  std::string precision;
  std::string optimizer;
  std::string target;
  int64_t threads = 1; ///< per rank
  std::string cpu;
  std::vector<std::string> features; ///< "+avx512f", "-amx-tile"

  /// Returns the product of the mesh's sizes; 1 if the launch is local.
  int64_t ranks() const;
  /// Returns the size of an axis; 1 if the mesh does not have it.
  int64_t axisSize(std::string_view axis) const;
  /// Returns the coordinate of a rank on an axis; 0 if the mesh does not have
  /// it.
  int64_t coordinate(int64_t rank, std::string_view axis) const;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("mesh", self.mesh,
      "axes, major to minor: rank = ((c₀·n₁)+c₁)·n₂+…. There is always a `dp` "
      "axis, of size 1 if the plan has none");
    f("batch", self.batch, "rows of the global batch", positive);
    f("microbatches", self.microbatches, "per rank and step",
      Limits{1, mostRanks});
    f("schedule", self.schedule, "its name, or `table`");
    f("launch", self.launch,
      "`ranks`: by mpirun or as threads; `local`: one process that runs the "
      "actions of `local`");
    f("tied", self.tied,
      "`sum`: all copies of a parameter are equal between steps; `owner`: all "
      "but the owner's are out of date until they are sent again, at the start "
      "of a step or an evaluation batch");
    f("recompute", self.recompute, "what the backward computes again");
    f("precision", self.precision, "`model` or `bf16`");
    f("optimizer", self.optimizer, "`sgd`, `momentum`, `adam`, `adamw`, …");
    f("target", self.target, "the device that ranks run on");
    f("threads", self.threads, "per rank", Limits{1, 1 << 16});
    f("cpu", self.cpu, "the processor, as LLVM names it");
    f("features", self.features, "its features, such as `+avx512f`");
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_PLAN_H
