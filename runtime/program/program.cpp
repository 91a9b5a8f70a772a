//===- program.cpp - The program document as plain structs ----------------===//

#include "program/program.h"

#include "ppopt/runtime.h"
#include "program/program_actions.h"
#include "program/program_fields.h"
#include "program/program_generation.h"
#include "program/program_places.h"

#include <algorithm>
#include <set>

namespace ppopt::runtime {

//===----------------------------------------------------------------------===//
// Types, shapes, mesh
//===----------------------------------------------------------------------===//

int64_t byteSize(ElementType type) {
  switch (type) {
  case ElementType::f64:
  case ElementType::i64:
    return 8;
  case ElementType::f32:
  case ElementType::i32:
    return 4;
  case ElementType::bf16:
    return 2;
  case ElementType::i1:
    return 1;
  }
  return 0;
}

const char *spelling(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return "f32";
  case ElementType::f64:
    return "f64";
  case ElementType::bf16:
    return "bf16";
  case ElementType::i32:
    return "i32";
  case ElementType::i64:
    return "i64";
  case ElementType::i1:
    return "i1";
  }
  return "?";
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

int64_t Plan::ranks() const {
  return launch == Launch::local ? 1 : mesh.ranks();
}

int64_t Plan::axisSize(std::string_view axis) const { return mesh.size(axis); }

int64_t Plan::coordinate(int64_t rank, std::string_view axis) const {
  // A local launch has one rank.
  return launch == Launch::local ? 0 : mesh.coordinate(rank, axis);
}

const Place &Program::placeOf(int64_t rank) const {
  return places[plan.placeOf(rank)];
}

int64_t Program::unusedChannel() const {
  int64_t unused = 0;
  for (const Place &place : places)
    for (const auto *actions : {&place.actions, &place.evalActions})
      for (const Action &action : *actions)
        if (action.kind == Action::start)
          unused = std::max(unused, action.channel + 1);
  return unused;
}

int64_t Program::largestArena() const {
  int64_t largest = 0;
  for (const Place &place : places)
    largest = std::max(largest, place.arenaBytes);
  return largest;
}

const PlaceParameter &Program::ownedParameter(int64_t parameter) const {
  const Place &owner = places[parameters[parameter].places.front()];
  return *std::find_if(
      owner.parameters.begin(), owner.parameters.end(),
      [&](const PlaceParameter &held) { return held.parameter == parameter; });
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

ElementType readType(const Field &field) {
  std::string text = field.text();
  for (ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::i32,
        ElementType::i64, ElementType::i1})
    if (text == spelling(type))
      return type;
  field.fail("is '" + text + "', not one of f32, f64, bf16, i32, i64, i1");
}

namespace {

constexpr int64_t kMostRanks = 1 << 20;

class Reader {
public:
  explicit Reader(Program &program) : program(program) {}

  void read(const Field &root);

private:
  std::vector<int64_t> readShape(const Field &field) const;
  void readPlan(const Field &field);
  void readLaunch(const Field &field);
  void readTied(const Field &field);
  void readTransfer(const Field &field);
  void readGradientOf(const Field &field, int64_t number);
  void checkReturns(const Field &requiresGrad, int64_t number) const;
  IdRange readIdRange(const Field &field);
  void readIndexedPart(const Field &field, Input &input);
  void readInput(const Field &field);
  void readInitializer(const Field &field, ElementType type, Initializer &init);
  void readParameter(const Field &field);
  void readCount(const Field &field);
  void readMatmul(const Field &field);
  void readTask(const Field &field);
  void readPlaces(const Field &field);
  void checkHeld(const Field &field, const Place &place) const;

  Program &program;
};

/// Rejects shapes whose bytes would overflow.
std::vector<int64_t> Reader::readShape(const Field &field) const {
  std::vector<int64_t> shape = field.integers(1);
  int64_t elements = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(elements, size, &elements) ||
        elements > int64_t{1} << 56)
      field.fail("has too many elements");
  return shape;
}

void Reader::readPlan(const Field &field) {
  Plan &plan = program.plan;
  std::set<std::string> names;
  int64_t ranks = 1;
  field["mesh"].forEach([&](const Field &axis) {
    geometry::Axis read{axis["axis"].text(),
                        axis["size"].integer(1, kMostRanks)};
    if (!names.insert(read.name).second)
      axis["axis"].fail("names the axis " + read.name + " again");
    plan.mesh.add(read);
    ranks *= read.size;
    if (ranks > kMostRanks)
      axis["size"].fail(
          fmt::format("makes {} ranks, more than {}", ranks, kMostRanks));
  });
  if (!names.count("dp"))
    field["mesh"].fail("has no axis dp");
  plan.batch = field["batch"].integer(1);
  plan.microbatches = field["microbatches"].integer(1, 1 << 20);
  if (plan.batch % (plan.axisSize("dp") * plan.microbatches) != 0)
    field["batch"].fail(fmt::format("is {}, which {} data-parallel ranks x {} "
                                    "microbatches do not divide",
                                    plan.batch, plan.axisSize("dp"),
                                    plan.microbatches));
  plan.schedule = field["schedule"].text();
  readLaunch(field["launch"]);
  readTied(field["tied"]);
  plan.recompute = field["recompute"].text();
  plan.optimizer = field["optimizer"].text();
  plan.precision = field["precision"].text();
  plan.target = field["target"].text();
  if (plan.target != "cpu")
    field["target"].fail("is '" + plan.target +
                         "', and this runtime has only cpu");
  plan.threads = field["threads"].integer(1, 1 << 16);
  plan.cpu = field["cpu"].text();
  field["features"].forEach(
      [&](const Field &feature) { plan.features.push_back(feature.text()); });
}

void Reader::readTied(const Field &field) {
  std::string tied = field.text();
  if (tied != "sum" && tied != "owner")
    field.fail("is '" + tied + "', not one of sum, owner");
  program.plan.lendsTied = tied == "owner";
}

void Reader::readLaunch(const Field &field) {
  Plan &plan = program.plan;
  std::string launch = field.text();
  if (launch != "ranks" && launch != "local")
    field.fail("is '" + launch + "', not one of ranks, local");
  plan.launch = launch == "local" ? Plan::Launch::local : Plan::Launch::ranks;
  for (const geometry::Axis &axis : plan.mesh)
    if (launch == "local" && axis.name != "pp" && axis.size > 1)
      field.fail("is local, and the mesh has " + axis.name + "=" +
                 std::to_string(axis.size));
}

IdRange Reader::readIdRange(const Field &field) {
  IdRange range{field["size"].integer(1), {}, field["source"].text()};
  if (!field["ignore_index"].isNull())
    range.ignored = field["ignore_index"].integer(INT64_MIN);
  return range;
}

void Reader::readIndexedPart(const Field &field, Input &input) {
  if (input.type != ElementType::i32 && input.type != ElementType::i64)
    field.fail("indexes by values that are not i32 or i64");
  IndexedPart part{field["begin"].integers(0), field["end"].integers(0),
                   readIdRange(field)};
  size_t dims = input.shape.size() - 1;
  if (part.begin.size() != dims || part.end.size() != dims)
    field.fail(fmt::format("does not have {} dimensions", dims));
  for (size_t dim = 0; dim < dims; ++dim)
    if (part.begin[dim] >= part.end[dim] ||
        part.end[dim] > input.shape[dim + 1])
      field.fail(fmt::format("is not a range of {} elements in dimension {}",
                             input.shape[dim + 1], dim));
  input.parts.push_back(std::move(part));
}

void Reader::readInput(const Field &field) {
  Input input;
  input.name = field["name"].text();
  input.shape = readShape(field["shape"]);
  input.type = readType(field["type"]);
  input.shift = field["shift"].integer();
  if (input.shape.empty() || input.shape[0] != program.plan.batch)
    field["shape"].fail("does not start with the plan's batch");
  field["ranges"].forEach(
      [&](const Field &part) { readIndexedPart(part, input); });
  program.inputs.push_back(std::move(input));
}

void Reader::readInitializer(const Field &field, ElementType type,
                             Initializer &init) {
  std::string kind = field["kind"].text();
  if (kind == "zeros")
    init.kind = Initializer::zeros;
  else if (kind == "ones")
    init.kind = Initializer::ones;
  else if (kind == "uniform") {
    init.kind = Initializer::uniform;
    init.low = field["low"].number();
    init.high = field["high"].number();
  } else if (kind == "normal") {
    init.kind = Initializer::normal;
    init.mean = field["mean"].number();
    init.std = field["std"].number();
  } else
    field["kind"].fail("is '" + kind +
                       "', not one of zeros, ones, uniform, normal");
  bool random =
      init.kind == Initializer::uniform || init.kind == Initializer::normal;
  if (random && type != ElementType::f32 && type != ElementType::f64 &&
      type != ElementType::bf16)
    field["kind"].fail("is '" + kind + "', but the parameter's type is " +
                       spelling(type));
}

void Reader::readParameter(const Field &field) {
  Parameter parameter;
  parameter.name = field["name"].text();
  for (const Parameter &other : program.parameters)
    if (other.name == parameter.name)
      field["name"].fail("is '" + parameter.name + "' a second time");
  parameter.shape = readShape(field["shape"]);
  parameter.type = readType(field["type"]);
  parameter.gradientType = readType(field["gradient_type"]);
  parameter.trained = field["trained"].boolean();
  parameter.decayed = field["decayed"].boolean();
  readInitializer(field["init"], parameter.type, parameter.init);
  parameter.places =
      field["places"].integers(0, program.plan.axisSize("pp") - 1);
  if (parameter.places.empty())
    field["places"].fail("is empty: no place holds the parameter");
  program.parameters.push_back(std::move(parameter));
}

void Reader::readCount(const Field &field) {
  ElementType type = readType(field["type"]);
  if (type == ElementType::bf16 || type == ElementType::i1)
    field["type"].fail("is not one of f32, f64, i32, i64");
  program.counts.push_back(
      {type, field["name"].text(), field["source"].text()});
}

void Reader::readMatmul(const Field &field) {
  auto readMatmulType = [](const Field &type) {
    switch (readType(type)) {
    case ElementType::f32:
      return MatmulType::f32;
    case ElementType::f64:
      return MatmulType::f64;
    case ElementType::bf16:
      return MatmulType::bf16;
    default:
      type.fail("is not one of f32, f64, bf16");
    }
  };
  auto readStrides = [](const Field &operand, std::array<int64_t, 4> &strides) {
    std::vector<int64_t> read = operand["strides"].integers(0);
    if (read.size() != 4)
      operand["strides"].fail("does not have four strides");
    std::copy(read.begin(), read.end(), strides.begin());
  };
  Matmul matmul;
  MatmulDescriptor &descriptor = matmul.descriptor;
  matmul.name = field["name"].text();
  descriptor.type = readMatmulType(field["type"]);
  descriptor.cType = readMatmulType(field["c_type"]);
  descriptor.accumulate = field["accumulate"].boolean();
  descriptor.m = field["m"].integer(1);
  descriptor.n = field["n"].integer(1);
  descriptor.k = field["k"].integer(1);
  std::vector<int64_t> batch = field["batch"].integers(1);
  if (batch.size() != 2)
    field["batch"].fail("does not have two sizes");
  descriptor.batch = {batch[0], batch[1]};
  readStrides(field["a"], descriptor.a);
  readStrides(field["b"], descriptor.b);
  readStrides(field["c"], descriptor.c);
  if (std::string why = invalidMatmul(descriptor); !why.empty())
    field.fail("('" + matmul.name + "') cannot be computed: " + why);
  matmul.workspace = field["workspace"].integer();
  program.matmuls.push_back(std::move(matmul));
}

void Reader::readTransfer(const Field &field) {
  int64_t stages = int64_t(program.stagePlaces.size());
  Transfer transfer;
  transfer.name = field["name"].text();
  transfer.value = field["value"].text();
  auto readEnd = [&](const char *place, const char *stage, int64_t &placeRead,
                     int64_t &stageRead) {
    placeRead = field[place].integer(0, program.plan.axisSize("pp") - 1);
    stageRead = field[stage].integer(0, stages - 1);
    if (program.stagePlaces[stageRead] != placeRead)
      field[stage].fail(
          fmt::format("is {}, which is not on place {}", stageRead, placeRead));
  };
  readEnd("from", "from_stage", transfer.from, transfer.fromStage);
  readEnd("to", "to_stage", transfer.to, transfer.toStage);
  if (transfer.from == transfer.to)
    field["to"].fail(fmt::format("is {}, where it comes from", transfer.to));
  transfer.bytes = field["bytes"].integer(1);
  transfer.type = readType(field["type"]);
  transfer.requiresGrad = field["requires_grad"].boolean();
  transfer.step = field.has("step") && field["step"].boolean();
  program.transfers.push_back(std::move(transfer));
}

/// Runs after all transfers are read.
void Reader::readGradientOf(const Field &field, int64_t number) {
  if (field.isNull())
    return;
  int64_t of = field.integer(0, int64_t(program.transfers.size()) - 1);
  Transfer &transfer = program.transfers[number];
  const Transfer &forward = program.transfers[of];
  if (!forward.requiresGrad || forward.from != transfer.to ||
      forward.to != transfer.from)
    field.fail(fmt::format("is {} ('{}'), which {}", of, forward.name,
                           forward.requiresGrad ? "does not go the other way"
                                                : "requires no gradient"));
  transfer.gradientOf = of;
}

void Reader::checkReturns(const Field &requiresGrad, int64_t number) const {
  bool returns = std::any_of(
      program.transfers.begin(), program.transfers.end(),
      [&](const Transfer &other) { return other.gradientOf == number; });
  if (program.transfers[number].requiresGrad && !returns)
    requiresGrad.fail("is true, and no transfer is its gradient");
}

void Reader::readTask(const Field &field) {
  int64_t places = program.plan.axisSize("pp");
  int64_t stages = int64_t(program.stagePlaces.size());
  program.tasks.push_back({field["name"].text(), field["kind"].text(),
                           field["stage"].integer(-1, stages - 1),
                           field["place"].integer(0, places - 1)});
}

void Reader::readPlaces(const Field &field) {
  int64_t places = program.plan.axisSize("pp");
  if (int64_t(field.size()) != places)
    field.fail(
        fmt::format("has {} places, and the mesh {}", field.size(), places));
  field.forEach([&](const Field &element) {
    int64_t number = int64_t(program.places.size());
    program.places.push_back(readPlace(element, program, number));
    checkHeld(element, program.places.back());
  });
}

/// Checks that a place holds exactly the parameters that list it.
void Reader::checkHeld(const Field &field, const Place &place) const {
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter &parameter = program.parameters[i];
    bool holds =
        std::any_of(place.parameters.begin(), place.parameters.end(),
                    [&](auto &held) { return held.parameter == int64_t(i); });
    bool named = std::count(parameter.places.begin(), parameter.places.end(),
                            place.place) == 1;
    if (holds != named)
      field.fail(fmt::format("{} parameter '{}', and its list of places says "
                             "otherwise",
                             holds ? "holds" : "does not hold",
                             parameter.name));
  }
}

void checkVersion(const Field &root) {
  int64_t abi = root["abi"].integer();
  if (abi != PPOPT_ABI_VERSION)
    throw Error("program: abi is {}, and this runtime has {}: compile the "
                "model again with the ppopt that the runtime belongs to",
                abi, PPOPT_ABI_VERSION);
}

void Reader::read(const Field &root) {
  checkVersion(root);
  program.model = root["model"].text();
  program.modelHash = root["model_hash"].text();
  program.source = root["source"].text();
  program.command = root["command"].text();
  readPlan(root["plan"]);
  root["stages"].forEach([&](const Field &f) {
    program.stagePlaces.push_back(
        f["place"].integer(0, program.plan.axisSize("pp") - 1));
  });
  root["inputs"].forEach([&](const Field &f) { readInput(f); });
  root["parameters"].forEach([&](const Field &f) { readParameter(f); });
  program.lossType = readType(root["loss"]["type"]);
  if (program.lossType != ElementType::f32 &&
      program.lossType != ElementType::f64)
    root["loss"]["type"].fail("is neither f32 nor f64");
  root["counts"].forEach([&](const Field &f) { readCount(f); });
  root["checks"].forEach(
      [&](const Field &f) { program.checks.push_back(readIdRange(f)); });
  root["transfers"].forEach([&](const Field &f) { readTransfer(f); });
  int64_t number = 0;
  root["transfers"].forEach(
      [&](const Field &f) { readGradientOf(f["gradient_of"], number++); });
  number = 0;
  root["transfers"].forEach(
      [&](const Field &f) { checkReturns(f["requires_grad"], number++); });
  root["matmuls"].forEach([&](const Field &f) { readMatmul(f); });
  root["kernels"].forEach([&](const Field &f) {
    program.kernels.push_back(
        {f["name"].text(), f["bytes"].integer(), f["flops"].integer()});
  });
  root["tasks"].forEach([&](const Field &f) { readTask(f); });
  readPlaces(root["places"]);
  checkTransfersMatch(program);
  if (program.plan.launch == Plan::Launch::local) {
    ActionReader reader(program);
    program.local = {reader.read(root["local"]["actions"]),
                     reader.read(root["local"]["eval_actions"])};
  }
  if (root.has("generation"))
    program.generation = readGeneration(root["generation"], program);
}

nlohmann::json parseJson(std::string_view json) {
  try {
    return nlohmann::json::parse(json.begin(), json.end());
  } catch (const nlohmann::json::parse_error &error) {
    throw Error("program: not JSON at byte {}: the executable is damaged, "
                "compile it again",
                error.byte);
  } catch (const nlohmann::json::out_of_range &) {
    throw Error("program: has a number that is too large: the executable is "
                "damaged, compile it again");
  }
}

Program readProgram(const Field &root) {
  Program program;
  Reader(program).read(root);
  return program;
}

} // namespace

Program Program::parse(std::string_view json) {
  nlohmann::json document = parseJson(json);
  return readProgram(Field(document, ""));
}

GenerationDocument GenerationDocument::parse(std::string_view json) {
  nlohmann::json document = parseJson(json);
  Field root(document, "");
  checkVersion(root);
  Field generation = root["generation"];
  if (generation.has("refused"))
    return {std::nullopt, generation["refused"].text()};
  return {readProgram(root), ""};
}

} // namespace ppopt::runtime
