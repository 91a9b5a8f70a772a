//===- program.cpp - The program document as plain structs ----------------===//

#include "core/program.h"

#include "core/program_fields.h"
#include "ppopt/runtime.h"

#include <set>
#include <unordered_map>

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
  int64_t count = 1;
  for (const MeshAxis &axis : mesh)
    count *= axis.size;
  return count;
}

int64_t Plan::axisSize(std::string_view axis) const {
  for (const MeshAxis &candidate : mesh)
    if (candidate.name == axis)
      return candidate.size;
  return 1;
}

int64_t Plan::coordinate(int64_t rank, std::string_view axis) const {
  int64_t stride = ranks();
  for (const MeshAxis &candidate : mesh) {
    stride /= candidate.size;
    if (candidate.name == axis)
      return rank / stride % candidate.size;
  }
  return 0;
}

const Place &Program::placeOf(int64_t rank) const {
  return places[plan.coordinate(rank, "pp")];
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

ElementType readType(const Field &field) {
  std::string text = field.text();
  for (ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::bf16, ElementType::i32,
        ElementType::i64, ElementType::i1})
    if (text == spelling(type))
      return type;
  field.fail("is '" + text + "', not one of f32, f64, bf16, i32, i64, i1");
}

class Reader {
public:
  explicit Reader(Program &program) : program(program) {}

  void read(const Field &root);

private:
  /// The offset of `bytes` bytes inside the arena.
  int64_t readOffset(const Field &field, int64_t bytes,
                     int64_t alignment = PPOPT_ALIGNMENT) const;
  int64_t readOffset(const Field &field, ElementType type) const {
    return readOffset(field, byteSize(type), byteSize(type));
  }

  void readPlan(const Field &field);
  void readInput(const Field &field);
  void readInitializer(const Field &field, ElementType type, Initializer &init);
  void readParameter(const Field &field);
  void readRegions(const Field &field);
  void readProduct(const Field &field);
  void readPlace(const Field &field);
  void readActions(const Field &field, std::vector<Action> &actions,
                   int64_t &collectives);
  Action readAction(const Field &field);
  void readStart(const Field &field, Action &action);

  Program &program;
};

int64_t Reader::readOffset(const Field &field, int64_t bytes,
                           int64_t alignment) const {
  int64_t offset = field.integer();
  if (offset % alignment != 0)
    field.fail(fmt::format("is {}, not a multiple of {}", offset, alignment));
  if (bytes > program.arenaBytes || offset > program.arenaBytes - bytes)
    field.fail(fmt::format("is {}: {} bytes there end outside the arena of {}",
                           offset, bytes, program.arenaBytes));
  return offset;
}

void Reader::readPlan(const Field &field) {
  Plan &plan = program.plan;
  std::set<std::string> names;
  field["mesh"].forEach([&](const Field &axis) {
    MeshAxis read{axis["axis"].text(), axis["size"].integer(1, 1 << 20)};
    if (!names.insert(read.name).second)
      axis["axis"].fail("names the axis " + read.name + " again");
    plan.mesh.push_back(read);
  });
  if (!names.count("dp"))
    field["mesh"].fail("has no axis dp");
  plan.batch = field["batch"].integer(1);
  plan.microbatches = field["microbatches"].integer(1);
  if (plan.batch % (plan.axisSize("dp") * plan.microbatches) != 0)
    field["batch"].fail(fmt::format("is {}, which {} data-parallel ranks x {} "
                                    "microbatches do not divide",
                                    plan.batch, plan.axisSize("dp"),
                                    plan.microbatches));
  plan.schedule = field["schedule"].text();
  plan.optimizer = field["optimizer"].text();
  plan.target = field["target"].text();
  if (plan.target != "cpu")
    field["target"].fail("is '" + plan.target +
                         "', and this runtime has only cpu");
  plan.threads = field["threads"].integer(1, 1 << 16);
  plan.cpu = field["cpu"].text();
  field["features"].forEach(
      [&](const Field &feature) { plan.features.push_back(feature.text()); });
}

void Reader::readInput(const Field &field) {
  Input input;
  input.name = field["name"].text();
  input.shape = field["shape"].integers(1);
  input.type = readType(field["type"]);
  input.shift = field["shift"].integer();
  if (!field["range"].isNull())
    input.range = field["range"].integer(1);
  if (!field["ignore_index"].isNull())
    input.ignoreIndex = field["ignore_index"].integer(INT64_MIN);
  input.bytes = field["bytes"].integer();
  input.offset = readOffset(field["offset"], input.bytes);
  if (input.shape.empty() || input.shape[0] != program.plan.batch)
    field["shape"].fail("does not start with the plan's batch");
  int64_t bytes = elementCount(input.shape) * byteSize(input.type) /
                  program.plan.axisSize("dp");
  if (input.bytes != bytes)
    field["bytes"].fail(
        fmt::format("is {}, and one rank's rows are {}", input.bytes, bytes));
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
  parameter.shape = field["shape"].integers(1);
  parameter.type = readType(field["type"]);
  parameter.trained = field["trained"].boolean();
  parameter.decayed = field["decayed"].boolean();
  readInitializer(field["init"], parameter.type, parameter.init);
  parameter.offset = readOffset(field["offset"], parameter.bytes());
  // Gradients and states are f32 where the parameter is bf16, but never
  // smaller than the parameter.
  parameter.gradient = field["gradient"].integer(-1);
  if (parameter.gradient != -1)
    readOffset(field["gradient"], parameter.bytes());
  field["states"].forEach([&](const Field &state) {
    parameter.states.push_back(
        {state["name"].text(), readOffset(state["offset"], parameter.bytes())});
  });
  if (parameter.gradient == -1 && !parameter.states.empty())
    field["states"].fail("is not empty, but the parameter has no gradient");
  program.parameters.push_back(std::move(parameter));
}

void Reader::readRegions(const Field &field) {
  field.forEach([&](const Field &region) {
    int64_t bytes = region["bytes"].integer();
    program.regions.push_back(
        {region["kind"].text(), readOffset(region["offset"], bytes), bytes});
  });
}

void Reader::readProduct(const Field &field) {
  auto readProductType = [](const Field &type) {
    switch (readType(type)) {
    case ElementType::f32:
      return ProductType::f32;
    case ElementType::f64:
      return ProductType::f64;
    case ElementType::bf16:
      return ProductType::bf16;
    default:
      type.fail("is not one of f32, f64, bf16");
    }
  };
  auto readStrides = [](const Field &operand, std::array<int64_t, 4> &strides) {
    std::vector<int64_t> read = operand["strides"].integers(0);
    if (read.size() != 4)
      operand["strides"].fail("has not four strides");
    std::copy(read.begin(), read.end(), strides.begin());
  };
  Product product;
  ProductDescriptor &descriptor = product.descriptor;
  product.name = field["name"].text();
  descriptor.type = readProductType(field["type"]);
  descriptor.cType = readProductType(field["c_type"]);
  descriptor.accumulate = field["accumulate"].boolean();
  descriptor.m = field["m"].integer(1);
  descriptor.n = field["n"].integer(1);
  descriptor.k = field["k"].integer(1);
  std::vector<int64_t> batch = field["batch"].integers(1);
  if (batch.size() != 2)
    field["batch"].fail("has not two sizes");
  descriptor.batch = {batch[0], batch[1]};
  readStrides(field["a"], descriptor.a);
  readStrides(field["b"], descriptor.b);
  readStrides(field["c"], descriptor.c);
  if (std::string why = invalidProduct(descriptor); !why.empty())
    field.fail("('" + product.name + "') cannot be computed: " + why);
  product.workspace = field["workspace"].integer();
  program.products.push_back(std::move(product));
}

void Reader::readStart(const Field &field, Action &action) {
  action.id = field["id"].integer();
  if (field["op"].text() != "all_reduce")
    field["op"].fail("is '" + field["op"].text() + "', not all_reduce");
  action.axis = field["axis"].text();
  bool known = false;
  for (const MeshAxis &axis : program.plan.mesh)
    known |= axis.name == action.axis;
  if (!known)
    field["axis"].fail("is '" + action.axis + "', which the mesh has not");
  action.channel = field["channel"].integer(0, INT32_MAX);
  action.type = readType(field["type"]);
  if (action.type == ElementType::i1)
    field["type"].fail("is i1, which cannot be summed");
  action.elements = field["elements"].integer(1, int64_t{1} << 56);
  action.offset =
      readOffset(field["offset"], action.elements * byteSize(action.type),
                 byteSize(action.type));
  if (program.plan.axisSize(action.axis) > 1 || field.has("scratch")) {
    Field scratch = field["scratch"];
    action.scratchBytes = scratch["bytes"].integer();
    action.scratch = readOffset(scratch["offset"], action.scratchBytes,
                                byteSize(action.type));
  }
}

Action Reader::readAction(const Field &field) {
  Action action;
  std::string kind = field["do"].text();
  if (kind == "run") {
    action.kind = Action::run;
    action.task = field["task"].integer(0, int64_t(program.tasks.size()) - 1);
    action.microbatch =
        field["microbatch"].integer(0, program.plan.microbatches - 1);
    action.arguments = field["args"].integers(0, program.arenaBytes);
    action.temporaries = readOffset(field["temps"], 0);
    if (field.has("skip_on_rank"))
      action.skippedOn = field["skip_on_rank"].integer(0);
  } else if (kind == "zero") {
    action.kind = Action::zero;
    action.bytes = field["bytes"].integer();
    action.offset = readOffset(field["offset"], action.bytes, 1);
  } else if (kind == "start") {
    action.kind = Action::start;
    readStart(field, action);
  } else if (kind == "wait") {
    action.kind = Action::wait;
    action.id = field["id"].integer();
  } else if (kind == "check_counts") {
    action.kind = Action::checkCounts;
  } else if (kind == "norm") {
    action.kind = Action::norm;
    action.offset = readOffset(field["offset"], ElementType::f64);
  } else {
    field["do"].fail("is '" + kind +
                     "', not one of run, zero, start, wait, check_counts, "
                     "norm");
  }
  return action;
}

void Reader::readActions(const Field &field, std::vector<Action> &actions,
                         int64_t &collectives) {
  std::unordered_map<int64_t, int64_t> inFlight; // id -> collective
  std::set<int64_t> seen;
  field.forEach([&](const Field &element) {
    Action action = readAction(element);
    if (action.kind == Action::start) {
      if (!seen.insert(action.id).second)
        element["id"].fail(fmt::format("is {} a second time", action.id));
      action.collective = collectives++;
      inFlight[action.id] = action.collective;
    } else if (action.kind == Action::wait) {
      auto started = inFlight.find(action.id);
      if (started == inFlight.end())
        element["id"].fail(
            fmt::format("is {}, which is not in flight", action.id));
      action.collective = started->second;
      inFlight.erase(started);
    }
    actions.push_back(std::move(action));
  });
  if (!inFlight.empty())
    field.fail(fmt::format("starts {} and never waits for it",
                           inFlight.begin()->first));
}

void Reader::readPlace(const Field &field) {
  Place place;
  place.place = field["place"].integer();
  if (place.place != int64_t(program.places.size()))
    field["place"].fail(fmt::format("is {}, out of order", place.place));
  int64_t collectives = 0;
  readActions(field["actions"], place.actions, collectives);
  readActions(field["eval_actions"], place.evalActions, collectives);
  program.places.push_back(std::move(place));
}

void Reader::read(const Field &root) {
  int64_t abi = root["abi"].integer();
  if (abi != PPOPT_ABI_VERSION)
    throw Error("program: abi is {}, and this runtime has {}: compile the "
                "model again with the ppopt that the runtime belongs to",
                abi, PPOPT_ABI_VERSION);
  program.model = root["model"].text();
  program.source = root["source"].text();
  program.command = root["command"].text();
  readPlan(root["plan"]);
  program.arenaBytes = root["arena"]["bytes"].integer(1);
  readRegions(root["arena"]["regions"]);
  root["inputs"].forEach([&](const Field &f) { readInput(f); });
  root["parameters"].forEach([&](const Field &f) { readParameter(f); });
  program.recordOffset =
      readOffset(root["record"]["offset"], sizeof(ppopt_record));
  program.lossType = readType(root["loss"]["type"]);
  if (program.lossType != ElementType::f32 &&
      program.lossType != ElementType::f64)
    root["loss"]["type"].fail("is neither f32 nor f64");
  program.lossOffset = readOffset(root["loss"]["offset"], program.lossType);
  root["counts"].forEach([&](const Field &f) {
    ElementType type = readType(f["type"]);
    if (type == ElementType::bf16 || type == ElementType::i1)
      f["type"].fail("is not one of f32, f64, i32, i64");
    program.counts.push_back({readOffset(f["offset"], type), type,
                              f["name"].text(), f["source"].text()});
  });
  root["products"].forEach([&](const Field &f) { readProduct(f); });
  root["kernels"].forEach(
      [&](const Field &f) { program.kernels.push_back(f["name"].text()); });
  root["tasks"].forEach([&](const Field &f) {
    program.tasks.push_back({f["name"].text(), f["kind"].text()});
  });
  root["ranks"].forEach([&](const Field &f) { readPlace(f); });
  if (int64_t(program.places.size()) != program.plan.axisSize("pp"))
    root["ranks"].fail(fmt::format("has {} places, and the mesh {}",
                                   program.places.size(),
                                   program.plan.axisSize("pp")));
  Field predicted = root["predicted"];
  program.predicted = {predicted["launches"].integer(),
                       predicted["flops"].integer(),
                       predicted["bytes_sent"].integer()};
}

} // namespace

Program Program::parse(std::string_view json) {
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(json.begin(), json.end());
  } catch (const nlohmann::json::parse_error &error) {
    throw Error("program: not JSON at byte {}: the executable is damaged, "
                "compile it again",
                error.byte);
  }
  Program program;
  Reader(program).read(Field(document, ""));
  return program;
}

} // namespace ppopt::runtime
