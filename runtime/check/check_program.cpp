//===- check_program.cpp - Whether a program contradicts itself -----------===//

#include "check/check_program.h"

#include "geometry/axes.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <set>

namespace ppopt::runtime {

using namespace schema;

void checkIndex(int64_t index, size_t count, const Path &path, int64_t least) {
  int64_t most = int64_t(count) - 1;
  if (index < least || index > most)
    path.fail(fmt::format("is {}, not in [{}, {}]", index, least, most));
}

void checkShape(const std::vector<int64_t> &shape, const Path &path) {
  int64_t elements = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(elements, size, &elements) ||
        elements > int64_t{1} << 56)
      path.fail("has too many elements");
}

static void checkStrides(const Program &program, const Address &address,
                         int64_t alignment, const Path &path) {
  std::set<std::string> axes;
  Path list = path["strides"];
  for (size_t i = 0; i < address.strides.size(); ++i) {
    const AxisStride &each = address.strides[i];
    Path stride = list[i];
    if (!program.plan.getMesh().has(each.axis))
      stride["axis"].fail("is '" + each.axis +
                          "', which the mesh does not have");
    if (!axes.insert(each.axis).second)
      stride["axis"].fail("is '" + each.axis + "' a second time");
    if (each.stride % alignment != 0)
      stride["stride"].fail(
          fmt::format("is {}, not a multiple of {}", each.stride, alignment));
    if (each.stride > INT64_MAX / (2 * mostRanks))
      stride["stride"].fail(fmt::format("is {}, too large", each.stride));
  }
}

void checkAddress(const Program &program, const Place &place,
                  const Address &address, int64_t bytes, int64_t alignment,
                  const Path &path) {
  if (address.base % alignment != 0)
    path.fail(
        fmt::format("is {}, not a multiple of {}", address.base, alignment));
  if (bytes > place.arenaBytes || address.base > place.arenaBytes - bytes)
    path.fail(fmt::format("is {}: {} bytes there end outside the arena of {}",
                          address.base, bytes, place.arenaBytes));
  checkStrides(program, address, alignment, path);
  int64_t greatest = greatestOffset(address, program.plan);
  if (greatest > place.arenaBytes - bytes)
    path.fail(fmt::format("is {} on the last rank: {} bytes there end outside "
                          "the arena of {}",
                          greatest, bytes, place.arenaBytes));
}

namespace {

class Checker {
public:
  explicit Checker(Program &program)
      : program(program), places(program.plan.places()) {}

  void check(const Path &root);

private:
  void checkPlan(const Path &path) const;
  void checkLaunch(const Path &path) const;
  void checkInput(const Input &input, const Path &path) const;
  void checkPart(const Input &input, const IndexedPart &part,
                 const Path &path) const;
  void checkParameter(size_t number, const Path &path) const;
  void checkBuffers(const Path &path) const;
  void checkTransfer(const Transfer &transfer, const Path &path) const;
  void checkGradientOf(const Transfer &transfer, const Path &path) const;
  void checkReturns(size_t number, const Path &path) const;
  void checkMatmul(const Matmul &matmul, const Path &path) const;
  void checkTask(const Task &task, const Path &path) const;
  void checkGeneration(const Path &path) const;
  /// Calls `check(i, path)` for each element of a list.
  template <typename T, typename Check>
  void each(const std::vector<T> &list, const Path &path,
            const Check &check) const {
    for (size_t i = 0; i < list.size(); ++i)
      check(i, path[i]);
  }

  Program &program;
  const int64_t places;
};

void Checker::checkPlan(const Path &path) const {
  const Plan &plan = program.plan;
  std::set<std::string> names;
  int64_t ranks = 1;
  each(plan.mesh, path["mesh"], [&](size_t i, const Path &axis) {
    if (!names.insert(plan.mesh[i].name).second)
      axis["axis"].fail("names the axis " + plan.mesh[i].name + " again");
    ranks *= plan.mesh[i].size;
    if (ranks > mostRanks)
      axis["size"].fail(
          fmt::format("makes {} ranks, more than {}", ranks, mostRanks));
  });
  if (!names.count(std::string(geometry::batchAxis)))
    path["mesh"].fail(fmt::format("has no axis {}", geometry::batchAxis));
  if (plan.batch % (plan.batchParts() * plan.microbatches) != 0)
    path["batch"].fail(fmt::format(
        "is {}, which {} data-parallel ranks x {} microbatches do not divide",
        plan.batch, plan.batchParts(), plan.microbatches));
  checkLaunch(path["launch"]);
  if ((plan.sync == Sync::stale) != (plan.bound > 0))
    path["bound"].fail(plan.bound > 0 ? "is there, and sync is not stale"
                                      : "is missing, and sync is stale");
  if (plan.isAsynchronous() &&
      (plan.target.gpu || plan.launch != Launch::ranks))
    path["sync"].fail("is of ranks on CPUs");
  const std::string &target = plan.target.name;
  if (plan.target.gpu.has_value() != (target == "cuda"))
    path["target"]["gpu"].fail(plan.target.gpu ? "is of no program for CPUs"
                                               : "is missing");
}

void Checker::checkLaunch(const Path &path) const {
  for (const MeshAxis &axis : program.plan.mesh)
    if (program.plan.launch == Launch::local &&
        axis.name != geometry::placeAxis && axis.size > 1)
      path.fail("is local, and the mesh has " + axis.name + "=" +
                std::to_string(axis.size));
}

void Checker::checkInput(const Input &input, const Path &path) const {
  checkShape(input.shape, path["shape"]);
  if (input.shape.empty() || input.shape[0] != program.plan.batch)
    path["shape"].fail("does not start with the plan's batch");
  each(input.parts, path["ranges"], [&](size_t i, const Path &part) {
    checkPart(input, input.parts[i], part);
  });
}

void Checker::checkPart(const Input &input, const IndexedPart &part,
                        const Path &path) const {
  if (input.type != ElementType::i32 && input.type != ElementType::i64)
    path.fail("indexes by values that are not i32 or i64");
  size_t dims = input.shape.size() - 1;
  if (part.begin.size() != dims || part.end.size() != dims)
    path.fail(fmt::format("does not have {} dimensions", dims));
  for (size_t dim = 0; dim < dims; ++dim)
    if (part.begin[dim] >= part.end[dim] ||
        part.end[dim] > input.shape[dim + 1])
      path.fail(fmt::format("is not a range of {} elements in dimension {}",
                            input.shape[dim + 1], dim));
}

void Checker::checkParameter(size_t number, const Path &path) const {
  const Parameter &parameter = program.parameters[number];
  auto names = [&](size_t i, const std::string &name) {
    const Parameter &other = program.parameters[i];
    return other.name == name ||
           std::count(other.aliases.begin(), other.aliases.end(), name) > 0;
  };
  for (size_t i = 0; i < number; ++i)
    if (names(i, parameter.name))
      path["name"].fail("is '" + parameter.name + "' a second time");
  each(parameter.aliases, path["aliases"], [&](size_t at, const Path &field) {
    const std::string &alias = parameter.aliases[at];
    bool isKnown = alias == parameter.name ||
                   std::count(parameter.aliases.begin(),
                              parameter.aliases.begin() + at, alias) > 0;
    for (size_t i = 0; i < number; ++i)
      isKnown |= names(i, alias);
    if (isKnown)
      field.fail("is '" + alias + "' a second time");
  });
  checkShape(parameter.shape, path["shape"]);
  if (parameter.tile)
    checkTile(program, parameter, path);
  InitialValues init = parameter.init.kind;
  bool isRandom =
      init == InitialValues::uniform || init == InitialValues::normal;
  if (isRandom && parameter.type != ElementType::f32 &&
      parameter.type != ElementType::f64 && parameter.type != ElementType::bf16)
    path["init"]["kind"].fail(
        fmt::format("is '{}', but the parameter's type is {}", spell(init),
                    spell(parameter.type)));
  each(parameter.places, path["places"], [&](size_t i, const Path &place) {
    checkIndex(parameter.places[i], places, place);
  });
  if (parameter.places.empty())
    path["places"].fail("is empty: no place holds the parameter");
}

void Checker::checkBuffers(const Path &path) const {
  std::set<std::string> names;
  for (const Parameter &parameter : program.parameters) {
    names.insert(parameter.name);
    names.insert(parameter.aliases.begin(), parameter.aliases.end());
  }
  each(program.buffers, path, [&](size_t i, const Path &buffer) {
    checkShape(program.buffers[i].shape, buffer["shape"]);
    if (!names.insert(program.buffers[i].name).second)
      buffer["name"].fail("is '" + program.buffers[i].name + "' a second time");
  });
}

void Checker::checkTransfer(const Transfer &transfer, const Path &path) const {
  auto checkEnd = [&](const char *placeName, const char *stageName,
                      int64_t place, int64_t stage) {
    checkIndex(place, places, path[placeName]);
    checkIndex(stage, program.stages.size(), path[stageName]);
    if (program.stages[stage].place != place)
      path[stageName].fail(
          fmt::format("is {}, which is not on place {}", stage, place));
  };
  checkEnd("from", "from_stage", transfer.from, transfer.fromStage);
  checkEnd("to", "to_stage", transfer.to, transfer.toStage);
  if (transfer.from == transfer.to)
    path["to"].fail(fmt::format("is {}, where it comes from", transfer.to));
}

void Checker::checkGradientOf(const Transfer &transfer,
                              const Path &path) const {
  if (!transfer.gradientOf)
    return;
  checkIndex(*transfer.gradientOf, program.transfers.size(), path);
  const Transfer &forward = program.transfers[*transfer.gradientOf];
  if (!forward.requiresGrad || forward.from != transfer.to ||
      forward.to != transfer.from)
    path.fail(fmt::format("is {} ('{}'), which {}", *transfer.gradientOf,
                          forward.name,
                          forward.requiresGrad ? "does not go the other way"
                                               : "requires no gradient"));
}

void Checker::checkReturns(size_t number, const Path &path) const {
  bool returns = std::any_of(program.transfers.begin(), program.transfers.end(),
                             [&](const Transfer &other) {
                               return other.gradientOf == int64_t(number);
                             });
  if (program.transfers[number].requiresGrad && !returns)
    path.fail("is true, and no transfer is its gradient");
}

void Checker::checkMatmul(const Matmul &matmul, const Path &path) const {
  if (std::string why = invalidMatmul(matmul.descriptor); !why.empty())
    path.fail("('" + matmul.name + "') cannot be computed: " + why);
}

void Checker::checkTask(const Task &task, const Path &path) const {
  checkIndex(task.stage, program.stages.size(), path["stage"], /*least=*/-1);
  checkIndex(task.place, places, path["place"]);
}

void Checker::checkGeneration(const Path &path) const {
  if (program.plan.ranks() != 1 || program.places.size() != 1 ||
      program.plan.batch != 1)
    path.fail("is in a program that is not for one rank and a batch of 1");
  const Generation &generation = *program.generation;
  auto checkBuffer = [&](const char *name, const TypedBuffer &buffer,
                         int64_t elements, ElementType one, ElementType other) {
    Path field = path[name];
    if (buffer.type != one && buffer.type != other)
      field["type"].fail(one == other ? fmt::format("is not {}", spell(one))
                                      : fmt::format("is {}, neither {} nor {}",
                                                    spell(buffer.type),
                                                    spell(one), spell(other)));
    checkAddress(program, program.places.front(), buffer.address,
                 elements * byteSize(buffer.type), PPOPT_ALIGNMENT,
                 field["offset"]);
  };
  checkBuffer("token", generation.token, 1, ElementType::i32, ElementType::i64);
  checkBuffer("position", generation.position, 1, ElementType::i64,
              ElementType::i64);
  checkBuffer("logits", generation.logits, generation.vocabulary,
              ElementType::f32, ElementType::f64);
  each(generation.caches, path["caches"], [&](size_t i, const Path &cache) {
    checkAddress(program, program.places.front(), generation.caches[i].address,
                 generation.caches[i].bytes, PPOPT_ALIGNMENT, cache["offset"]);
  });
}

/// Checks one place.
class PlaceChecker {
public:
  PlaceChecker(Program &program, Place &place, const Path &path)
      : program(program), place(place), path(path) {}

  void check();

private:
  void checkAt(const Address &address, int64_t bytes, const Path &field,
               int64_t alignment = PPOPT_ALIGNMENT) const {
    checkAddress(program, place, address, bytes, alignment, field);
  }
  void checkScalar(const Address &address, ElementType type,
                   const Path &field) const {
    checkAt(address, byteSize(type), field, byteSize(type));
  }
  void checkInput(size_t number, const Path &field) const;
  void checkParameter(size_t number, const Path &field) const;
  void checkHeld() const;
  void checkOwned(const Path &field) const;
  void checkOwned(const OwnedBucket &bucket, const Path &field) const;

  Program &program;
  Place &place;
  const Path &path;
};

void PlaceChecker::checkInput(size_t number, const Path &field) const {
  const PlaceInput &input = place.inputs[number];
  checkIndex(input.input, program.inputs.size(), field["input"]);
  for (size_t i = 0; i < number; ++i)
    if (place.inputs[i].input == input.input)
      field["input"].fail(fmt::format("is {} a second time", input.input));
  const Input &global = program.inputs[input.input];
  checkAt(input.address, input.bytes, field["offset"]);
  int64_t bytes = elementCount(global.shape) * byteSize(global.type) /
                  program.plan.batchParts();
  if (input.bytes != bytes)
    field["bytes"].fail(
        fmt::format("is {}, and one rank's rows are {}", input.bytes, bytes));
}

void PlaceChecker::checkParameter(size_t number, const Path &field) const {
  const PlaceParameter &held = place.parameters[number];
  checkIndex(held.parameter, program.parameters.size(), field["parameter"]);
  for (size_t i = 0; i < number; ++i)
    if (place.parameters[i].parameter == held.parameter)
      field["parameter"].fail(
          fmt::format("is {} a second time", held.parameter));
  const Parameter &parameter = program.parameters[held.parameter];
  if (held.shard)
    checkShard(program, place, held, field["shard"]);
  auto checkHeldAt = [&](ShardOf tensors, const Address &address,
                         ElementType type, const Path &at) {
    checkAt(address,
            mostElements(held, tensors, parameter, program.plan) *
                byteSize(type),
            at);
  };
  checkHeldAt(ShardOf::parameters, held.address, parameter.type,
              field["offset"]);
  if (held.working)
    checkAt(*held.working, parameter.bytes(), field["working"]);
  if (held.gradient)
    checkHeldAt(ShardOf::gradients, *held.gradient, parameter.gradientType,
                field["gradient"]);
  else if (!held.states.empty())
    field["states"].fail("is not empty, but the parameter has no gradient");
  Path states = field["states"];
  for (size_t i = 0; i < held.states.size(); ++i)
    checkHeldAt(ShardOf::states, held.states[i].address, parameter.type,
                states[i]["offset"]);
}

/// Checks that the place holds exactly the parameters that list it.
void PlaceChecker::checkHeld() const {
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    bool holds =
        std::any_of(place.parameters.begin(), place.parameters.end(),
                    [&](auto &held) { return held.parameter == int64_t(i); });
    bool named = std::count(parameter.places.begin(), parameter.places.end(),
                            place.place) == 1;
    if (holds != named)
      path.fail(fmt::format("{} parameter '{}', and its list of places says "
                            "otherwise",
                            holds ? "holds" : "does not hold", parameter.name));
  }
}

void PlaceChecker::checkOwned(const OwnedBucket &bucket,
                              const Path &field) const {
  int64_t trainers = program.plan.axisSize(geometry::batchAxis);
  if (bucket.elements % trainers != 0)
    field["elements"].fail(fmt::format("is {}, which {} trainers do not divide",
                                       bucket.elements, trainers));
  int64_t bytes = bucket.elements * byteSize(bucket.type),
          gradientBytes = bucket.elements * byteSize(bucket.gradientType);
  checkAt(bucket.working, bytes, field["working"]);
  checkAt(bucket.gradients, gradientBytes, field["gradients"]);
  checkAt(bucket.master, bytes / trainers, field["master"]);
  if (gradientBytes / trainers > place.owned->inboxBytes)
    field["elements"].fail("makes a chunk of gradients larger than an inbox");
  checkIndex(bucket.task, program.tasks.size(), field["task"]);
  checkIndex(bucket.gradientArgument, bucket.arguments.size(),
             field["gradient_arg"]);
  Path arguments = field["args"];
  for (size_t i = 0; i < bucket.arguments.size(); ++i)
    checkAt(bucket.arguments[i], 1, arguments[i], /*alignment=*/1);
  checkAt(bucket.temporaries, 0, field["temps"]);
}

/// Checks what the place's ranks own.
void PlaceChecker::checkOwned(const Path &field) const {
  if (place.owned.has_value() != program.plan.isAsynchronous())
    field.fail(place.owned ? "is there, and the plan's sync is step"
                           : "is missing");
  for (const PlaceParameter &held : place.parameters)
    if (held.working.has_value() != (place.owned && held.gradient))
      field.fail(fmt::format("is {}, and parameter '{}' has {}working copy",
                             place.owned ? "there" : "missing",
                             program.parameters[held.parameter].name,
                             held.working ? "a " : "no "));
  if (!place.owned || place.owned->buckets.empty())
    return;
  const Owned &owned = *place.owned;
  checkAt(owned.stepState, sizeof(ppopt_step_state), field["step_state"]);
  if (owned.inboxBytes > place.arenaBytes)
    field["inbox_bytes"].fail("is more than the arena has");
  checkAt(owned.inboxes,
          owned.inboxBytes * (program.plan.axisSize(geometry::batchAxis) - 1),
          field["inboxes"]);
  Path buckets = field["buckets"];
  for (size_t i = 0; i < owned.buckets.size(); ++i)
    checkOwned(owned.buckets[i], buckets[i]);
}

void PlaceChecker::check() {
  Path arena = path["arena"], regions = arena["regions"];
  for (size_t i = 0; i < place.regions.size(); ++i)
    checkAt(place.regions[i].offset, place.regions[i].bytes,
            regions[i]["offset"]);
  checkAt(place.stepState, PPOPT_KEY_OFFSET(program.plan.microbatches),
          path["step_state"]["offset"]);
  checkScalar(place.loss, program.lossType, path["loss"]["offset"]);
  if (place.norm)
    checkScalar(*place.norm, ElementType::f64, path["norm"]);
  Path counts = path["counts"], checks = path["checks"],
       inputs = path["inputs"], parameters = path["parameters"];
  if (place.counts.size() != program.counts.size())
    counts.fail(fmt::format("has {} entries, and the program {} counts",
                            place.counts.size(), program.counts.size()));
  for (size_t i = 0; i < place.counts.size(); ++i)
    checkScalar(place.counts[i].address, program.counts[i].type,
                counts[i]["offset"]);
  for (size_t i = 0; i < place.checks.size(); ++i) {
    checkIndex(place.checks[i].check, program.checks.size(),
               checks[i]["check"]);
    checkScalar(place.checks[i].address, ElementType::i64, checks[i]["offset"]);
  }
  for (size_t i = 0; i < place.inputs.size(); ++i)
    checkInput(i, inputs[i]);
  for (size_t i = 0; i < place.parameters.size(); ++i)
    checkParameter(i, parameters[i]);
  checkActions(program, &place, place.actions, place.evalActions, path);
  checkHeld();
  checkOwned(path["owned"]);
}

void Checker::check(const Path &root) {
  Path transfers = root["transfers"];
  checkPlan(root["plan"]);
  each(program.stages, root["stages"], [&](size_t i, const Path &path) {
    checkIndex(program.stages[i].place, places, path["place"]);
  });
  each(program.inputs, root["inputs"], [&](size_t i, const Path &path) {
    checkInput(program.inputs[i], path);
  });
  each(program.parameters, root["parameters"],
       [&](size_t i, const Path &path) { checkParameter(i, path); });
  checkBuffers(root["buffers"]);
  if (program.lossType != ElementType::f32 &&
      program.lossType != ElementType::f64)
    root["loss"]["type"].fail("is neither f32 nor f64");
  each(program.counts, root["counts"], [&](size_t i, const Path &path) {
    ElementType type = program.counts[i].type;
    if (type == ElementType::bf16 || type == ElementType::i1)
      path["type"].fail("is not one of f32, f64, i32, i64");
  });
  each(program.transfers, transfers, [&](size_t i, const Path &path) {
    checkTransfer(program.transfers[i], path);
  });
  each(program.transfers, transfers, [&](size_t i, const Path &path) {
    checkGradientOf(program.transfers[i], path["gradient_of"]);
  });
  each(program.transfers, transfers, [&](size_t i, const Path &path) {
    checkReturns(i, path["requires_grad"]);
  });
  each(program.matmuls, root["matmuls"], [&](size_t i, const Path &path) {
    checkMatmul(program.matmuls[i], path);
  });
  each(program.tasks, root["tasks"],
       [&](size_t i, const Path &path) { checkTask(program.tasks[i], path); });
  if (int64_t(program.places.size()) != places)
    root["places"].fail(fmt::format("has {} places, and the mesh {}",
                                    program.places.size(), places));
  each(program.places, root["places"], [&](size_t i, const Path &path) {
    if (program.places[i].place != int64_t(i))
      path["place"].fail(
          fmt::format("is {}, out of order", program.places[i].place));
    PlaceChecker(program, program.places[i], path).check();
  });
  checkTaskCollectives(program, root["collectives"]);
  checkShardsMatch(program, root["places"]);
  checkTransfersMatch(program, root);
  bool isLocal = program.plan.launch == Launch::local;
  if (isLocal != program.local.has_value())
    root["local"].fail(isLocal ? "is missing"
                               : "is there, and the plan's launch is ranks");
  if (program.local)
    checkActions(program, nullptr, program.local->actions,
                 program.local->evalActions, root["local"]);
  if (program.generation)
    checkGeneration(root["generation"]);
}

} // namespace

void checkProgram(Program &program, const Path &root) {
  Checker(program).check(root);
}

} // namespace ppopt::runtime
