//===- program.h - The program document as plain structs ------------------===//
//
// The JSON document of an executable (docs/program.md), read once at start. A
// field that is missing, of the wrong type or out of range throws an `Error`
// that names its path ("program: parameters[3].init.std: ..."). Unknown fields
// are ignored; "abi" decides compatibility. Offsets and sizes are in bytes from
// the start of a place's arena.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_PROGRAM_H
#define PPOPT_RUNTIME_PROGRAM_PROGRAM_H

#include "geometry/mesh.h"
#include "ppopt/matmul.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::runtime {

enum class ElementType { f32, f64, bf16, i32, i64, i1 };

/// Returns the bytes of one element.
int64_t byteSize(ElementType type);
/// Returns the document's name of the type: "f32", ...
const char *spelling(ElementType type);

/// Returns the product of the dimensions.
int64_t elementCount(const std::vector<int64_t> &shape);

struct Plan {
  geometry::Mesh mesh; ///< always has geometry::batchAxis
  int64_t batch;       ///< rows of the global batch
  int64_t microbatches;
  std::string schedule;
  /// `ranks`: one process or thread per rank; `local`: all places on one rank.
  enum class Launch { ranks, local } launch = Launch::ranks;
  /// The owner updates a parameter that several places hold. The other places
  /// use the value of the previous step.
  bool lendsTied = false;
  std::string recompute; ///< what the backward pass recomputes
  std::string optimizer;
  std::string precision; ///< "model", "bf16"
  std::string target;
  int64_t threads; ///< per rank
  std::string cpu;
  std::vector<std::string> features; ///< "+avx512f", "-amx-tile"

  /// Returns the product of the mesh's sizes; 1 if the launch is local.
  int64_t ranks() const;
  /// Returns the size of an axis; 1 if the mesh does not have it.
  int64_t axisSize(std::string_view axis) const;
  /// Returns the coordinate of a rank on an axis; 0 if the mesh does not have
  /// it.
  int64_t coordinate(int64_t rank, std::string_view axis) const;
  int64_t places() const { return mesh.places(); }
  int64_t placeOf(int64_t rank) const {
    return coordinate(rank, geometry::placeAxis);
  }
  /// Returns the number of parts that ranks split the rows of a batch into.
  int64_t batchParts() const { return mesh.batchParts(); }
  /// Returns the part that a rank has.
  int64_t batchPart(int64_t rank) const {
    return launch == Launch::local ? 0 : mesh.batchPart(rank);
  }
  /// Returns the rows of a part, in all microbatches.
  int64_t rowsOfPart() const { return batch / batchParts(); }
};

/// The valid ids: [0, size) and `ignored`.
struct IdRange {
  int64_t size;
  std::optional<int64_t> ignored;
  std::string source; ///< the op that they index

  bool holds(int64_t id) const {
    return (id >= 0 && id < size) || (ignored && id == *ignored);
  }
};

/// A part of each row of an input whose values are ids.
struct IndexedPart {
  std::vector<int64_t> begin, end; ///< in each dimension except the batch
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
  ElementType gradientType; ///< f32 if the parameter is bf16
  bool trained, decayed;
  Initializer init;
  std::vector<int64_t> places; ///< places that hold it; the first is the owner

  int64_t elements() const { return elementCount(shape); }
  int64_t bytes() const { return elements() * byteSize(type); }
  int64_t gradientBytes() const { return elements() * byteSize(gradientType); }
};

struct Count {
  ElementType type;
  std::string name, source;
};

/// A value sent from one place to another, once per microbatch or, with `step`,
/// once per step.
struct Transfer {
  std::string name;
  std::string value;
  int64_t from, to;           ///< places
  int64_t fromStage, toStage; ///< the stages on these places
  int64_t bytes;
  ElementType type;
  bool requiresGrad;                 ///< whether a gradient is sent back
  std::optional<int64_t> gradientOf; ///< index of its forward transfer
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
  // Per launch.
  int64_t bytes; ///< read and written
  int64_t flops; ///< of matmuls in the kernel
};

struct Task {
  std::string name;
  std::string kind; ///< "prologue", "forward", "backward", "update", ...
  int64_t stage;    ///< -1: belongs to the place, not to a stage
  int64_t place;
};

struct DeadRange {
  int64_t offset, bytes;
};

/// A byte offset in the arena of a place.
struct Address {
  int64_t place, offset;
};

struct Action {
  enum Kind { run, zero, start, wait, copy, sum, checkCounts, norm } kind;
  int64_t place = 0; ///< the place whose arena the offsets refer to
  // For run:
  int64_t task = 0;               ///< index of Program::tasks
  int64_t microbatch = 0;         ///< in [0, Plan::microbatches)
  std::vector<int64_t> arguments; ///< offsets
  int64_t temporaries = 0;        ///< offset
  // For zero, start, norm:
  int64_t offset = 0;
  int64_t bytes = 0;
  // For start; wait has only op, id and operation:
  enum Operation { allReduce, send, recv } op = allReduce;
  int64_t id = 0;
  std::vector<std::string> axes; ///< the group: ranks that differ only in these
  std::vector<int64_t> among;    ///< if not empty: only ranks of these places
  geometry::Group group() const { return {axes, among}; }
  int64_t channel = 0;
  int64_t elements = 0;
  ElementType type = ElementType::f32;
  int64_t scratch = 0, scratchBytes = 0;
  /// The number of the operation on its place, in the order of the starts in
  /// `actions`, then `evalActions`.
  int64_t operation = 0;
  // For start of a transfer and copy, with microbatch and bytes:
  int64_t transfer = 0; ///< index of Program::transfers
  int64_t peer = 0;     ///< the place at the other end
  // For copy: from, to. For sum: the buffers, with elements and type.
  std::vector<Address> at;
  /// Ranges that nothing reads after the action.
  std::vector<DeadRange> dead;
};

struct Region {
  std::string kind;
  int64_t offset, bytes;
};

/// Where a task stores an id that is out of range: an i64, 0 if there is none.
struct PlaceCheck {
  int64_t check; ///< index of Program::checks
  int64_t offset;
};

struct PlaceInput {
  int64_t input;         ///< index of Program::inputs
  int64_t offset, bytes; ///< the rows of one rank
};

struct OptimizerState {
  std::string name;
  int64_t offset;
};

struct PlaceParameter {
  int64_t parameter; ///< index of Program::parameters
  int64_t offset;
  int64_t gradient; ///< -1: no gradient, never updated
  std::vector<OptimizerState> states;
};

struct Predicted {
  int64_t launches, flops, bytesSent;
};

/// A coordinate on placeAxis: the layout of its arena, and the actions of
/// its ranks.
struct Place {
  int64_t place;
  int64_t arenaBytes;
  std::vector<Region> regions;
  int64_t stepStateOffset;
  int64_t lossOffset;
  std::vector<int64_t> countOffsets; ///< one per entry of Program::counts
  std::vector<PlaceCheck> checks;
  std::vector<PlaceInput> inputs;
  std::vector<PlaceParameter> parameters;
  std::vector<Action> actions;
  std::vector<Action> evalActions;
  Predicted predicted; ///< for the rank with coordinate 0 on all other axes
};

/// The actions of one rank that holds all places.
struct LocalActions {
  std::vector<Action> actions;
  std::vector<Action> evalActions;
};

/// The additional part of a generation program (docs/program.md): the inputs
/// and outputs of one run of its place's evalActions.
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
  std::string modelHash; ///< hash of what the model computes, under any plan
  Plan plan;
  std::vector<int64_t> stagePlaces; ///< the place per stage
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  ElementType lossType; ///< f32 or f64
  std::vector<Count> counts;
  std::vector<IdRange> checks; ///< ranges of ids that tasks compute
  std::vector<Transfer> transfers;
  std::vector<Matmul> matmuls;
  std::vector<Kernel> kernels;
  std::vector<Task> tasks;
  std::vector<Place> places;
  std::optional<LocalActions> local;    ///< set if the launch is local
  std::optional<Generation> generation; ///< set in a generation program

  /// Parses and validates the document. Throws Error. Checks everything that
  /// the runtime relies on: offsets are aligned and inside their arena, indices
  /// and ids exist, and starts and waits match one to one.
  static Program parse(std::string_view json);

  /// Returns the place of a rank: its coordinate on placeAxis.
  const Place &placeOf(int64_t rank) const;

  /// Returns a channel that no action uses.
  int64_t unusedChannel() const;

  /// Returns the bytes of the largest place's arena.
  int64_t largestArena() const;

  /// Returns the entry of a parameter on the place that owns it.
  const PlaceParameter &ownedParameter(int64_t parameter) const;
  /// Returns whether anything updates the parameter.
  bool learns(int64_t parameter) const {
    return ownedParameter(parameter).gradient >= 0;
  }
};

/// The second document of an executable: a generation program, or the reason
/// why the compiler could not make one.
struct GenerationDocument {
  std::optional<Program> program; ///< has `generation`
  std::string refused;            ///< the reason, if there is no program

  /// Throws Error, as Program::parse does.
  static GenerationDocument parse(std::string_view json);
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_PROGRAM_H
