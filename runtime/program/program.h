//===- program.h - The program document as plain structs ------------------===//
//
// The JSON document of an executable (docs/program.md), read once at start. A
// field that is missing, has the wrong type or an impossible value throws an
// `Error` that names it by path ("program: parameters[3].init.std: ...").
// Fields that this version does not know are ignored; "abi" decides
// compatibility. Offsets and sizes are bytes from the start of a place's arena.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_H

#include "ppopt/matmul.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::runtime {

enum class ElementType { f32, f64, bf16, i32, i64, i1 };

/// Bytes of one element.
int64_t byteSize(ElementType type);
/// The name that the document uses: "f32", ...
const char *spelling(ElementType type);

/// Product of the dimensions.
int64_t elementCount(const std::vector<int64_t> &shape);

struct MeshAxis {
  std::string name;
  int64_t size;
};

struct Plan {
  std::vector<MeshAxis> mesh; ///< major to minor; always has "dp"
  int64_t batch;              ///< rows of the global batch
  int64_t microbatches;
  std::string schedule;
  /// `ranks`: by mpirun or as threads; `local`: all places on one rank.
  enum class Launch { ranks, local } launch = Launch::ranks;
  /// A parameter on several places is updated by its owner, and the others have
  /// the one of the step before.
  bool lendsTied = false;
  std::string recompute; ///< what the backward computes again
  std::string optimizer;
  std::string precision; ///< "model", "bf16"
  std::string target;
  int64_t threads; ///< per rank
  std::string cpu;
  std::vector<std::string> features; ///< "+avx512f", "-amx-tile"

  /// Product of the mesh's sizes; 1 where the launch is local.
  int64_t ranks() const;
  /// Size of an axis; 1 for one that the mesh does not have.
  int64_t axisSize(std::string_view axis) const;
  /// Coordinate of a rank on an axis; 0 for one that the mesh does not have.
  int64_t coordinate(int64_t rank, std::string_view axis) const;
};

/// What ids may be: in [0, size), or `ignored`.
struct IdRange {
  int64_t size;
  std::optional<int64_t> ignored;
  std::string source; ///< the op that they index

  bool holds(int64_t id) const {
    return (id >= 0 && id < size) || (ignored && id == *ignored);
  }
};

/// A part of each row of an input that indexes something.
struct IndexedPart {
  std::vector<int64_t> begin, end; ///< in each dimension but the batch's
  IdRange range;
};

struct Input {
  std::string name;
  std::vector<int64_t> shape; ///< of the global batch
  ElementType type;
  int64_t shift;
  std::vector<IndexedPart> parts;
};

struct Initializer {
  enum Kind { zeros, ones, uniform, normal } kind;
  double low = 0, high = 0; ///< uniform
  double mean = 0, std = 0; ///< normal
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  ElementType type;
  ElementType gradientType; ///< f32 where the parameter is bf16
  bool trained, decayed;
  Initializer init;
  std::vector<int64_t> places; ///< that hold it; the first is the owner

  int64_t elements() const { return elementCount(shape); }
  int64_t bytes() const { return elements() * byteSize(type); }
  int64_t gradientBytes() const { return elements() * byteSize(gradientType); }
};

struct Count {
  ElementType type;
  std::string name, source;
};

/// What goes from one place to another, once for every microbatch or, `step`,
/// once a step.
struct Transfer {
  std::string name;
  std::string value;
  int64_t from, to;           ///< places
  int64_t fromStage, toStage; ///< on them
  int64_t bytes;
  ElementType type;
  bool requiresGrad;                 ///< a gradient comes back
  std::optional<int64_t> gradientOf; ///< index: of what it is the gradient
  bool step;

  int64_t elements() const { return bytes / byteSize(type); }
};

struct Matmul {
  std::string name;
  MatmulDescriptor descriptor;
  int64_t workspace;
};

struct Kernel {
  std::string name;
  // Of a launch.
  int64_t bytes; ///< of what it reads and writes
  int64_t flops; ///< of matmuls inside it
};

struct Task {
  std::string name;
  std::string kind; ///< "prologue", "forward", "backward", "update", ...
  int64_t stage;    ///< -1 for one of a place
  int64_t place;
};

struct DeadRange {
  int64_t offset, bytes;
};

/// Bytes in the arena of a place.
struct Address {
  int64_t place, offset;
};

struct Action {
  enum Kind { run, zero, start, wait, copy, sum, checkCounts, norm } kind;
  int64_t place = 0; ///< whose arena offsets mean
  // run
  int64_t task = 0;               ///< index of Program::tasks
  int64_t microbatch = 0;         ///< in [0, Plan::microbatches)
  std::vector<int64_t> arguments; ///< offsets
  int64_t temporaries = 0;        ///< offset
  // zero, start, norm
  int64_t offset = 0;
  int64_t bytes = 0;
  // start, wait (of which op, id and operation)
  enum Operation { allReduce, send, recv } op = allReduce;
  int64_t id = 0;
  std::vector<std::string> axes; ///< ranks that differ in these only
  std::vector<int64_t> among;    ///< if not empty: and whose place is here
  int64_t channel = 0;
  int64_t elements = 0;
  ElementType type = ElementType::f32;
  int64_t scratch = 0, scratchBytes = 0;
  /// Number of the operation among those of the place, counted over `actions`
  /// and then `evalActions` by their starts.
  int64_t operation = 0;
  // start of a transfer, copy: microbatch, bytes and
  int64_t transfer = 0; ///< index of Program::transfers
  int64_t peer = 0;     ///< the place at the other end
  // copy: from, to; sum: the buffers, with elements and type
  std::vector<Address> at;
  /// Ranges that nobody reads after the action.
  std::vector<DeadRange> dead;
};

struct Region {
  std::string kind;
  int64_t offset, bytes;
};

/// Where a task notes an id that is out of range: an i64, 0 as long as there is
/// none.
struct PlaceCheck {
  int64_t check; ///< index of Program::checks
  int64_t offset;
};

struct PlaceInput {
  int64_t input;         ///< index of Program::inputs
  int64_t offset, bytes; ///< of one rank's rows
};

struct OptimizerState {
  std::string name;
  int64_t offset;
};

struct PlaceParameter {
  int64_t parameter; ///< index of Program::parameters
  int64_t offset;
  int64_t gradient; ///< -1: has no gradient and is never updated
  std::vector<OptimizerState> states;
};

struct Predicted {
  int64_t launches, flops, bytesSent;
};

/// A coordinate on the axis "pp": what lies where in its arena, and what its
/// ranks do.
struct Place {
  int64_t place;
  int64_t arenaBytes;
  std::vector<Region> regions;
  int64_t stepStateOffset;
  int64_t lossOffset;
  std::vector<int64_t> countOffsets; ///< one for each of Program::counts
  std::vector<PlaceCheck> checks;
  std::vector<PlaceInput> inputs;
  std::vector<PlaceParameter> parameters;
  std::vector<Action> actions;
  std::vector<Action> evalActions;
  Predicted predicted; ///< of the rank with coordinate 0 on all other axes
};

/// What one rank does for all places.
struct LocalActions {
  std::vector<Action> actions;
  std::vector<Action> evalActions;
};

/// What a program that generates (docs/program.md) has beside the rest: where
/// one run of its place's evalActions finds and leaves what.
struct Generation {
  struct Cache {
    std::string name;
    int64_t offset, bytes;
  };
  int64_t vocabulary; ///< tokens are in [0, vocabulary)
  int64_t context;    ///< positions are in [0, context)
  ElementType tokenType;
  int64_t tokenOffset;    ///< one element
  int64_t positionOffset; ///< one i64
  ElementType logitsType; ///< f32 or f64
  int64_t logitsOffset;   ///< `vocabulary` elements
  std::vector<Cache> caches;
  int64_t bytesPerPosition; ///< of all caches
};

struct Program {
  std::string model, source, command;
  std::string modelHash; ///< of what the model computes, under any plan
  Plan plan;
  std::vector<int64_t> stagePlaces; ///< the place of each stage
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  ElementType lossType; ///< f32 or f64
  std::vector<Count> counts;
  std::vector<IdRange> checks; ///< of ids that tasks compute
  std::vector<Transfer> transfers;
  std::vector<Matmul> matmuls;
  std::vector<Kernel> kernels;
  std::vector<Task> tasks;
  std::vector<Place> places;
  std::optional<LocalActions> local;    ///< where the launch is local
  std::optional<Generation> generation; ///< of a program that generates

  /// Throws Error. Everything that the runtime later relies on is checked here:
  /// offsets are aligned and inside their arena, indices and ids exist, every
  /// start has one wait after it and the reverse.
  static Program parse(std::string_view json);

  /// The place of a rank: its coordinate on the axis "pp".
  const Place &placeOf(int64_t rank) const;

  /// A channel that no action uses.
  int64_t unusedChannel() const;

  /// Bytes of the largest place's arena.
  int64_t largestArena() const;

  /// What the place that owns a parameter holds of it.
  const PlaceParameter &ownedParameter(int64_t parameter) const;
  /// Whether anything updates the parameter.
  bool learns(int64_t parameter) const {
    return ownedParameter(parameter).gradient >= 0;
  }
};

/// The second document of an executable: a program that generates, or the
/// reason why the compiler could not make one.
struct GenerationDocument {
  std::optional<Program> program; ///< has `generation`
  std::string refused;            ///< where there is no program

  /// Throws Error, as Program::parse does.
  static GenerationDocument parse(std::string_view json);
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_H
