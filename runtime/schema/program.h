//===- program.h - The schema of the program in an executable -------------===//
//
// The document that a compiled executable carries (docs/program.md), as plain
// structs. The compiler fills and writes them, the runtime reads them. Offsets
// and sizes are in bytes, offsets from the start of a place's arena.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_PROGRAM_H
#define PPOPT_RUNTIME_SCHEMA_PROGRAM_H

#include "geometry/tile.h"
#include "schema/held_parameter.h"
#include "schema/place.h"
#include "schema/plan.h"
#include "schema/tensors.h"
#include "schema/work.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::schema {

/// A buffer that the runtime writes or reads between runs.
struct TypedBuffer {
  Address address;
  ElementType type = ElementType::f32;
};

struct Cache {
  static constexpr const char *title = "Cache";
  std::string name;
  Address address;
  int64_t bytes = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("bytes", self.bytes, "its size", atLeast(1));
    f("offset", self.address, "where it lies", memory(self.bytes));
  }
};

/// The additional part of a program that generates: the inputs and outputs of
/// one run of its place's evalActions.
struct Generation {
  static constexpr const char *title = "Generation";
  int64_t vocabulary = 0; ///< tokens are in [0, vocabulary)
  int64_t context = 0;    ///< positions are in [0, context)
  TypedBuffer token, position, logits;
  std::vector<Cache> caches;
  int64_t bytesPerPosition = 0; ///< of all caches

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("vocabulary", self.vocabulary, "tokens are less",
      Limits{1, int64_t{1} << 40});
    f("context", self.context, "positions are less",
      Limits{1, int64_t{1} << 40});
    auto buffer = [&](const char *name, auto &buffer, const char *meaning,
                      int64_t elements, const Bounds &types) {
      f.nested(name, meaning, [&](auto &g) {
        g("type", buffer.type, "of its elements", types);
        g("offset", buffer.address, "where it lies",
          memory(elements * byteSize(buffer.type)));
      });
    };
    buffer("token", self.token,
           "one element: the program's input 0, written before a run and not "
           "changed by it",
           1, ofIds);
    buffer("position", self.position, "one element: its input 1, likewise", 1,
           oneOf(ElementType::i64));
    buffer("logits", self.logits,
           "`vocabulary` elements: the scores of the token at position + 1",
           self.vocabulary, ofFloats);
    f("caches", self.caches,
      "what earlier positions left. A run reads nothing of positions after its "
      "own, so a new text clears nothing");
    f("bytes_per_position", self.bytesPerPosition, "of all caches");
  }
};

struct Program {
  static constexpr const char *title = "The document";
  int64_t abi = 0;      ///< PPOPT_ABI_VERSION of the compiler
  std::string compiler; ///< its version
  std::string model, modelHash, source, command;
  Plan plan;
  std::vector<Stage> stages;
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  std::vector<PersistentBuffer> buffers;
  ElementType lossType = ElementType::f32; ///< f32 or f64
  std::vector<Count> counts;
  std::vector<Metric> metrics;
  std::vector<Output> outputs; ///< in a program that predicts
  std::vector<IdRange> checks; ///< ranges of ids that tasks compute
  std::vector<Transfer> transfers;
  std::vector<Matmul> matmuls;
  std::vector<Kernel> kernels;
  std::vector<Task> tasks;
  /// Those of one task are contiguous, in the order of their starts.
  std::vector<TaskCollective> collectives;
  std::vector<Place> places;
  std::optional<LocalActions> local;    ///< set if the launch is local
  std::optional<Generation> generation; ///< set in a program that generates

  /// Returns the place of a rank: its coordinate on the axis of places.
  const Place &placeOf(int64_t rank) const;
  /// Returns a channel that no action and no task uses.
  int64_t unusedChannel() const;
  /// Returns the bytes of the largest place's arena.
  int64_t largestArena() const;
  /// Returns the entry of a parameter on the place that owns it.
  const PlaceParameter &ownedParameter(int64_t parameter) const;
  /// Returns whether anything updates the parameter.
  bool learns(int64_t parameter) const {
    return ownedParameter(parameter).gradient.has_value();
  }

  /// Whether it makes the model's outputs; else it trains, or generates.
  bool predicts() const { return !outputs.empty(); }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("abi", self.abi, "decides whether a runtime can run the program");
    f("compiler", self.compiler, "the version of ppopt that compiled it");
    f("model", self.model, "the stem of its file");
    f("model_hash", self.modelHash,
      "of the model before any plan: its ops, parameters, their initial "
      "values. "
      "Locations, names of functions other than the entry, marks of places, "
      "checkpoints and the batch have no part in it. A checkpoint identifies "
      "its model by it");
    f("source", self.source, "the model's file");
    f("command", self.command, "the compiler's command line");
    f("plan", self.plan, "how the model is put on devices");
    f("stages", self.stages, "by number");
    f("inputs", self.inputs, "of the model");
    f("parameters", self.parameters, "of the model");
    f.optional("buffers", self.buffers,
               "tensors that `--export` writes beside the parameters; the "
               "executable has their elements");
    f.nested("loss", "of the model", [&](auto &g) {
      g("type", self.lossType, "of its one element", ofFloats);
    });
    f("counts", self.counts,
      "scalars that prologue tasks compute from inputs alone (counted "
      "targets). They are global after the prologue's all-reduce, on every "
      "rank. If one is zero, the step updates nothing on any rank, and the "
      "runtime says so with its name and source");
    f("metrics", self.metrics, "the model's scalar results besides its loss");
    f.optional("outputs", self.outputs,
               "the model's results that have the batch's rows, in the "
               "document of the program that predicts");
    f("checks", self.checks,
      "of ids that tasks compute. A task writes the first id that is out of "
      "range, and adds NaN to the loss");
    f("transfers", self.transfers, "what goes from one place to another");
    f("matmuls", self.matmuls,
      "library calls: C[b₀,b₁,m,n] = Σₖ A[b₀,b₁,m,k]·B[b₀,b₁,k,n], any strides "
      "for A and B (transposes, permuted heads, broadcast = 0). They "
      "accumulate in f32 (f64 for f64)");
    f("kernels", self.kernels, "generated code that tasks launch");
    f("tasks", self.tasks, "in the order of the executable's table");
    f("collectives", self.collectives,
      "those that tasks start and wait for inside. The collectives of one task "
      "follow one another, in the order of their starts. Each is waited for "
      "before its task ends");
    f("places", self.places,
      "one entry per coordinate on the mesh's axis `pp` (one, if it has none). "
      "All ranks of a place have the same arena and run the same actions",
      asLongAs(List::places));
    f.optional("local", self.local,
               "with launch `local`: the actions of all places, in program "
               "order");
    f.optional("generation", self.generation,
               "in the document of the program that generates");
  }
};

// Why the fields of a struct do not fit together; empty if they do.
std::string whyUnfit(const Plan &plan);
std::string whyUnfit(const Input &input);
std::string whyUnfit(const Output &output);
std::string whyUnfit(const Parameter &parameter);
template <typename T> std::string whyUnfit(const T &) { return ""; }

/// Returns the ranks along the batch's axis, which train asynchronously.
int64_t trainersOf(const Plan &plan);
/// Returns the offset of an address on a rank of the plan.
int64_t offsetOn(const Address &address, const Plan &plan, int64_t rank);
/// Replaces every address by its offset on a rank of the plan.
void resolve(Place &place, const Plan &plan, int64_t rank);
void resolve(LocalActions &local, const Plan &plan, int64_t rank);
/// Returns the part of a parameter that a rank of the plan has.
geometry::Tile tileOf(const Parameter &parameter, const Plan &plan,
                      int64_t rank);
/// Returns which tile of a parameter that is: "tp 1", the rank's coordinates on
/// the axes that cut it.
std::string describeTile(const Parameter &parameter, const Plan &plan,
                         int64_t rank);
/// Returns the rank of the mesh that a rank of the plan is for a place whose
/// memory it has: itself, or the place's only one if the launch is local.
int64_t meshRankOn(int64_t place, const Plan &plan, int64_t rank);

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_PROGRAM_H
