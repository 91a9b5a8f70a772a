//===- Program.cpp - The program of an executable -------------------------===//

#include "ppopt/Program/Program.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "ActionProgram.h"
#include "GenerationProgram.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Config.h"
#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/Origin.h"
#include "ppopt/Dialect/PP/PersistentBuffers.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"
#include "ppopt/runtime.h"

#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

std::vector<int64_t> toVector(ArrayRef<int64_t> list) {
  return {list.begin(), list.end()};
}

/// Fills the program part by part.
class ProgramWriter {
public:
  ProgramWriter(ModuleOp module, PlanOp plan)
      : module(module), plan(plan), index(module), tables(index.tables) {
    // A program that generates has an evaluation alone.
    StepOp step = findStep(module);
    generates = step && step.getMicrobatch().empty();
  }

  FailureOr<schema::Program> write();

private:
  void addNames();
  void addPlan();
  void addStages();
  void addInputs();
  LogicalResult addParameters();
  void addBuffers();
  void addScalars();
  void addMetrics();
  void addOutputs();
  void addTransfers();
  void addMatmuls();
  void addKernels();
  void addTasks();
  LogicalResult addPlaces();

  ModuleOp module;
  PlanOp plan;
  ProgramIndex index;
  const ProgramTables &tables;
  bool generates;
  schema::Program program;
};

void ProgramWriter::addNames() {
  program.abi = PPOPT_ABI_VERSION;
  program.compiler = PPOPT_VERSION;
  Origin origin = getOrigin(module);
  program.model = origin.model;
  program.modelHash = origin.hash;
  program.source = origin.source;
  program.command = origin.command;
}

void ProgramWriter::addPlan() {
  schema::Plan &described = program.plan;
  for (const ::ppopt::geometry::Axis &axis : plan.getJobMesh())
    described.mesh.push_back({axis.name, axis.size});
  described.batch = plan.getJobBatch();
  described.microbatches = plan.getMicrobatches();
  described.schedule = plan.getSchedule();
  described.mixesRows = plan.getMixesRows().value_or("").str();
  described.byMicrobatch = plan.getByMicrobatch();
  PlanChoices choices = plan.getChoices();
#define PLAN_CHOICE(FIELD, ...) described.FIELD = choices.FIELD;
#define PLAN_SWITCH(FIELD, ...) described.FIELD = choices.FIELD;
#define PLAN_LEVEL(FIELD, ...) described.FIELD = choices.FIELD;
#define PLAN_NUMBER(FIELD, ...) described.FIELD = choices.FIELD;
#define PLAN_BYTES(FIELD, ...) described.FIELD = choices.FIELD;
#include "schema/plan_options.def"
  TargetAttr target = plan.getTarget();
  described.target.name = target.getName();
  described.target.threads = target.getThreads();
  described.target.cpu = target.getCpu();
  for (StringRef feature : llvm::split(target.getFeatures(), ','))
    if (!feature.empty())
      described.target.features.push_back(feature.str());
  // A CPU that was named has those that LLVM gives it.
  if (target.getFeatures().empty() &&
      llvm::X86::parseArchX86(target.getCpu()) != llvm::X86::CK_None) {
    SmallVector<StringRef> features;
    llvm::X86::getFeaturesForCPU(target.getCpu(), features, /*NeedPlus=*/true);
    for (StringRef feature : features)
      described.target.features.push_back(feature.str());
  }
  if (!target.getGpu().empty())
    described.target.gpu = target.getGpu().str();
}

void ProgramWriter::addStages() {
  for (TaskOp task : tables.tasks) {
    if (task.getStage() == TaskOp::kNoStage)
      continue;
    size_t stage = task.getStage();
    if (program.stages.size() <= stage)
      program.stages.resize(stage + 1);
    program.stages[stage].place = task.getPlace();
  }
}

schema::IdRange describeRange(IdRangeAttr range) {
  return {range.getSize(), range.getIgnored(), range.getSource().str()};
}

void ProgramWriter::addInputs() {
  for (auto input : module.getOps<InputDeclOp>()) {
    auto type = cast<RankedTensorType>(input.getType());
    schema::Input described;
    described.name = input.getInputName();
    described.shape = toVector(type.getShape());
    described.shape.front() *= plan.getTrainers();
    described.type = getSchemaType(type);
    described.shift = input.getShift();
    for (auto range : input.getRanges().getAsRange<IdRangeAttr>())
      described.parts.push_back({toVector(range.getBegin().asArrayRef()),
                                 toVector(range.getEnd().asArrayRef()),
                                 describeRange(range)});
    program.inputs.push_back(std::move(described));
  }
}

/// Returns what the runtime draws for a whole parameter of this shape: xavier
/// and kaiming are a variance, of a uniform or a normal distribution.
schema::Initializer describeInit(InitAttr init, ArrayRef<int64_t> shape) {
  double first = init.getFirst().convertToDouble();
  double second = init.getSecond().convertToDouble();
  auto ofVariance = [&](bool isUniform, double mean) {
    schema::Initializer described;
    double deviation = first / std::sqrt(mean);
    described.kind = isUniform ? schema::InitialValues::uniform
                               : schema::InitialValues::normal;
    if (isUniform) {
      described.high = deviation * std::sqrt(3.0);
      described.low = -described.high;
    } else {
      described.std = deviation;
    }
    return described;
  };
  auto getMeanFan = [&] {
    auto fans = shape.take_back(2);
    return (static_cast<double>(fans[0]) + static_cast<double>(fans[1])) / 2;
  };
  schema::Initializer described;
  switch (init.getKind()) {
  case InitKind::XavierUniform:
  case InitKind::XavierNormal:
    return ofVariance(init.getKind() == InitKind::XavierUniform, getMeanFan());
  case InitKind::KaimingUniform:
  case InitKind::KaimingNormal:
    return ofVariance(init.getKind() == InitKind::KaimingUniform, second);
  case InitKind::Uniform:
    described.low = first;
    described.high = second;
    break;
  case InitKind::Normal:
  case InitKind::TruncNormal:
    described.mean = first;
    described.std = second;
    break;
  case InitKind::Zeros:
  case InitKind::Ones:
    break;
  }
  described.kind =
      toSchema<schema::InitialValues>(stringifyInitKind(init.getKind()));
  return described;
}

/// Returns the shape of the whole parameter, of which a rank has `local`.
/// Emits an error if ranks of the plan do not hold tiles of it.
FailureOr<SmallVector<int64_t>> findGlobalShape(ParamDeclOp param,
                                                ArrayRef<int64_t> local,
                                                ShardingAttr sharding,
                                                const ShardingAxes &axes) {
  auto refuse = [&] {
    return param.emitOpError() << param.getParamNameAttr() << " ";
  };
  if (sharding.isPartial())
    return refuse() << "is " << sharding
                    << ", but a parameter is not a partial result",
           failure();
  if (sharding.getRank() != static_cast<int64_t>(local.size()))
    return refuse() << "of " << param.getType() << " is " << sharding
                    << ", of other dimensions",
           failure();
  SmallVector<int64_t> shape(local);
  for (const DimCut &cut : sharding.getCuts()) {
    std::optional<unsigned> axis = axes.find(cut.axis);
    if (!axis)
      return refuse() << "is " << sharding << ", but the plan has no axis "
                      << cut.axis.getValue() << " that cuts",
             failure();
    if (cut.axis == kMicrobatchAxis)
      return refuse() << "is " << sharding
                      << ", but all microbatches read the same parameters",
             failure();
    shape[cut.dim] *= axes[*axis].parts;
  }
  return shape;
}

FailureOr<schema::ParameterTile> describeTile(ParamDeclOp param,
                                              ArrayRef<int64_t> local,
                                              ShardingAttr attr,
                                              const ShardingAxes &axes) {
  FailureOr<SmallVector<int64_t>> shape =
      findGlobalShape(param, local, attr, axes);
  if (failed(shape))
    return failure();
  FailureOr<Sharding> sharding = readSharding(axes, attr, *shape, [&] {
    return param.emitOpError() << param.getParamNameAttr() << " ";
  });
  if (failed(sharding))
    return failure();
  schema::ParameterTile described;
  described.globalShape = toVector(*shape);
  for (const Cuts &cuts : sharding->dims) {
    described.cuts.emplace_back();
    for (Cut cut : cuts)
      described.cuts.back().push_back(
          {axes[cut.axis].name.str(), axes[cut.axis].parts, cut.period});
  }
  return described;
}

LogicalResult ProgramWriter::addParameters() {
  ShardingAxes axes = ShardingAxes::of(plan);
  for (auto param : module.getOps<ParamDeclOp>()) {
    auto type = cast<RankedTensorType>(param.getType());
    schema::Parameter described;
    described.name = param.getParamName();
    if (auto aliases = param->getAttrOfType<ArrayAttr>(kAliasesAttr))
      for (auto alias : aliases.getAsRange<StringAttr>())
        described.aliases.push_back(alias.str());
    described.shape = toVector(type.getShape());
    described.type = getSchemaType(type);
    described.gradientType =
        getSchemaType(getStatisticsType(type.getElementType()));
    described.trained = !param.getFrozen() && !param.getState();
    auto getScale = [](std::optional<APFloat> scale) {
      return scale && !scale->isExactlyValue(1)
                 ? std::optional(scale->convertToDouble())
                 : std::nullopt;
    };
    described.lrScale = getScale(param.getLrScale());
    described.decayScale = getScale(param.getDecayScale());
    described.decayed = !param.getNoDecay() && described.decayScale != 0.0;
    if (!described.decayed)
      described.decayScale.reset();
    described.places = toVector(param.getPlaces());
    auto sharding = param->getAttrOfType<ShardingAttr>(kShardingAttr);
    if (sharding && !sharding.isWhole()) {
      FailureOr<schema::ParameterTile> tile =
          describeTile(param, type.getShape(), sharding, axes);
      if (failed(tile))
        return failure();
      described.tile = std::move(*tile);
    }
    described.init = describeInit(param.getInit(), described.globalShape());
    program.parameters.push_back(std::move(described));
  }
  return success();
}

void ProgramWriter::addBuffers() {
  auto buffers = module->getAttrOfType<DictionaryAttr>(kBuffersAttr);
  if (!buffers || generates)
    return;
  for (NamedAttribute buffer : buffers) {
    ShapedType type = cast<ElementsAttr>(buffer.getValue()).getShapedType();
    program.buffers.push_back({buffer.getName().str(),
                               spellStored(type.getElementType()).str(),
                               toVector(type.getShape())});
  }
}

/// Adds the loss' type, the counts, and the checks of ids. The loss of a
/// program that generates stays zero.
void ProgramWriter::addScalars() {
  program.lossType = schema::ElementType::f64;
  for (TaskOp task : tables.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      schema::ElementType type;
      bool isLoss = task.getArgRole(i).getKind() == RoleKind::Loss;
      auto count = task.getArgAttrOfType<StringAttr>(i, kCountAttr);
      if (isLoss || count)
        type = getSchemaType(task.getArgumentTypes()[i]);
      if (isLoss)
        program.lossType = type;
      if (count)
        program.counts.push_back({type, count.getValue().str(),
                                  spellSource(task.getArgument(i).getLoc())});
      if (auto range = task.getArgAttrOfType<IdRangeAttr>(i, kIdRangeAttr))
        program.checks.push_back(describeRange(range));
    }
}

/// Adds the outputs of a program that predicts, with their global shapes.
void ProgramWriter::addOutputs() {
  for (const TaskOutput &made : index.outputs) {
    schema::Output &output = program.outputs.emplace_back();
    output.name = made.role.getName().str();
    output.shape = toVector(made.type.getShape());
    output.shape[0] = plan.getBatch();
    output.type = getSchemaType(made.type);
  }
}

/// Adds the metrics, in the order of the tasks that make them.
void ProgramWriter::addMetrics() {
  llvm::StringSet<> counted;
  for (auto &[role, type] : index.scalars)
    if (role.getKind() == RoleKind::MetricCount)
      counted.insert(role.getName());
  for (auto &[role, type] : index.scalars)
    if (role.getKind() == RoleKind::Metric)
      program.metrics.push_back(
          {role.getName().str(), counted.contains(role.getName())});
}

void ProgramWriter::addTransfers() {
  for (auto [task, collective] : tables.collectives) {
    schema::TaskCollective described;
    described.name = collective.getWhat().str();
    described.task = tables.getTask(TaskOp(task).getSymName());
    described.op = collective.getCollective().getKind();
    described.axes = collective.getGroup().getGeometry().axes;
    described.channel = collective.getChannel();
    described.elements = collective.getElements();
    described.type = getSchemaType(collective.getType());
    program.collectives.push_back(std::move(described));
  }
  for (const auto &[id, copy] : tables.copies) {
    schema::Transfer described;
    described.name = copy.getName();
    described.value = copy.value;
    described.from = copy.from;
    described.to = copy.to;
    described.fromStage = copy.fromStage;
    described.toStage = copy.toStage;
    described.bytes = getBytes(copy.type);
    described.type = getSchemaType(copy.type);
    described.step = copy.isOfStep();
    described.requiresGrad = copy.requiresGrad;
    if (copy.gradientOf)
      described.gradientOf = tables.getTransfer(*copy.gradientOf);
    program.transfers.push_back(std::move(described));
  }
}

void ProgramWriter::addMatmuls() {
  for (const MatmulEntry &entry : tables.matmuls) {
    GemmOp op = entry.op;
    schema::Matmul described;
    described.name = entry.name;
    described.descriptor = describeMatmul(op);
    described.workspace =
        op.getWorkspace() ? getBytes(op.getWorkspace().getType()) : 0;
    if (MatmulKernelAttr kernel = op.getKernelAttr())
      described.kernel = {kernel.getName().getValue().str(), kernel.getBlocks(),
                          kernel.getThreads(), kernel.getShared()};
    program.matmuls.push_back(std::move(described));
  }
}

void ProgramWriter::addKernels() {
  // With the padding of rows.
  auto bytesOf = [](KernelOp kernel, TypeRange types, unsigned first) {
    std::vector<int64_t> bytes;
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = cast<RankedTensorType>(type);
      bytes.push_back(
          getBytes(getBufferType(tensor, kernel.getPitch(first + i))));
    }
    return bytes;
  };
  for (KernelOp kernel : tables.kernels) {
    Block &body = kernel.getBody().front();
    schema::Kernel described;
    described.name = kernel.getSymName().str();
    described.bytes = static_cast<int64_t>(getKernelBytes(kernel));
    described.flops = getMatmulFlops(kernel);
    described.ins = bytesOf(kernel, body.getArgumentTypes(), 0);
    described.outs = bytesOf(kernel, body.getTerminator()->getOperandTypes(),
                             body.getNumArguments());
    if (ThreadsAttr threads = kernel.getThreadsAttr()) {
      described.threads = threads.getCount();
      described.shared = threads.getShared();
    }
    program.kernels.push_back(std::move(described));
  }
}

void ProgramWriter::addTasks() {
  for (TaskOp task : tables.tasks)
    program.tasks.push_back(
        {task.getSymName().str(),
         toSchema<schema::TaskKind>(stringifyTaskKind(task.getKind())),
         task.getStage(), task.getPlace()});
}

/// Adds the places, and what all of them have together.
LogicalResult ProgramWriter::addPlaces() {
  SmallVector<ArenaLayout, 0> layouts;
  for (int64_t place = 0, e = plan.getPlaces(); place < e; ++place)
    layouts.emplace_back(module, index.buffers, place);
  auto contents = collectPlaces(module, plan);
  program.places.resize(contents.size());
  auto describe = [&](size_t i) -> LogicalResult {
    FailureOr<schema::Place> place =
        describePlace(module, plan, contents[i], index, layouts);
    if (succeeded(place))
      program.places[i] = std::move(*place);
    return place;
  };
  if (failed(failableParallelForEachN(module.getContext(), 0, contents.size(),
                                      describe)))
    return failure();
  if (generates) {
    FailureOr<schema::Generation> generation =
        describeGeneration(module, layouts.front());
    if (failed(generation))
      return failure();
    program.generation = std::move(*generation);
  }
  if (program.plan.launch == schema::Launch::local) {
    auto schedules = llvm::to_vector(module.getOps<ScheduleOp>());
    FailureOr<schema::LocalActions> local =
        describeActions(schedules, plan, index, layouts);
    if (failed(local))
      return failure();
    program.local = std::move(*local);
  }
  return success();
}

FailureOr<schema::Program> ProgramWriter::write() {
  if (failed(checkCopies(module, index.step)))
    return failure();
  addNames();
  addPlan();
  addStages();
  addInputs();
  if (failed(addParameters()))
    return failure();
  addBuffers();
  addScalars();
  addMetrics();
  addOutputs();
  addTransfers();
  addMatmuls();
  addKernels();
  addTasks();
  if (failed(addPlaces()))
    return failure();
  return std::move(program);
}

} // namespace

FailureOr<schema::Program> pp::buildProgram(ModuleOp module) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (failed(plan))
    return failure();
  return ProgramWriter(module, *plan).write();
}
