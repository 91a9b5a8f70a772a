//===- PlanOptions.cpp - The user's decisions about a plan ----------------===//

#include "ppopt/Driver/PlanOptions.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/PlanContradiction.h"
#include "ppopt/Support/NearestNames.h"

#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::pp;
using llvm::Twine;
namespace geometry = ppopt::geometry;
namespace schedule = ppopt::schedule;

/// A table has an entry per microbatch and stage.
static constexpr int64_t kMostStages = int64_t(1) << 20;
static constexpr int64_t kMostRows = int64_t(1) << 40;
static constexpr int64_t kMostRanks = int64_t(1) << 20;
static constexpr int64_t kMostThreads = 1024;

PlanOptions PlanOptions::forGenerator() const {
  PlanOptions plan;
  plan.program = ProgramKind::Generation;
#define PLAN_KERNELS(FIELD, ...) plan.FIELD = FIELD;
#include "schema/plan_options.def"
  plan.precision = precision;
  plan.optimizer = optimizer;
  plan.recompute = Recompute::none;
  plan.target = target;
  plan.thresholds = thresholds;
  plan.command = command;
  plan.source = source;
  return plan;
}

PlanOptions PlanOptions::forPredictor() const {
  PlanOptions plan = *this;
  plan.program = ProgramKind::Prediction;
  plan.batchParts = microbatches;
  plan.microbatches = 1;
  plan.schedule = "1f1b";
  plan.table.reset();
  plan.tablePath.clear();
  plan.chunks.reset();
  plan.stagePlaces.clear();
  // Nothing learns, so the parameters are all that can be sharded.
  if (plan.zero < 3 || plan.gather == schema::Gather::step)
    plan.zero = 0;
  plan.gather = schema::Gather::task;
  plan.summed = schema::GradDtype::f32;
  plan.sync = Sync::step;
  plan.bound = 0;
  plan.ema = false;
  plan.tied = Tied::sum;
  plan.recompute = Recompute::none;
  return plan;
}

std::string pp::setSchedule(PlanOptions &plan, StringRef name) {
  std::optional<int> chunks;
  int64_t places = plan.mesh.places();
  if (plan.chunks && *plan.chunks > kMostStages / places)
    return ("--chunks " + Twine(*plan.chunks) + ": makes more than " +
            Twine(kMostStages) + " stages on the " + Twine(places) +
            " places of --mesh")
        .str();
  if (plan.chunks)
    chunks = static_cast<int>(*plan.chunks);
  plan.schedule = name.str();
  plan.stagePlaces.clear();
  if (name == "auto")
    return "";
  auto shape = schedule::getShape(plan.schedule, chunks);
  if (!shape)
    return "--schedule: " + shape.error;
  if (shape->chunks == 1)
    return "";
  if (places == 1)
    return ("--schedule " + name +
            " puts several stages on each of several places; say how many "
            "places: --mesh pp=2")
        .str();
  for (int place : schedule::placeStages(*shape, static_cast<int>(places)))
    plan.stagePlaces.push_back(place);
  return "";
}

std::string pp::setTable(PlanOptions &plan, schedule::Table table) {
  auto placeOf = schedule::getPlaces(table);
  if (!placeOf)
    return placeOf.error;
  auto rows = static_cast<int64_t>(table.rows.size());
  if (!plan.mesh.has(geometry::placeAxis))
    plan.mesh.add({std::string(geometry::placeAxis), rows});
  else if (plan.mesh.places() != rows)
    return ("has " + Twine(rows) + " rows, one per place, but --mesh " +
            geometry::placeAxis + "=" + Twine(plan.mesh.places()))
        .str();
  plan.schedule = "table";
  plan.microbatches = table.microbatches;
  plan.stagePlaces.assign(placeOf->begin(), placeOf->end());
  plan.table = std::move(table);
  return "";
}

/// Checks the sizes of the mesh, the batch and its parts.
static std::string checkSizes(const PlanOptions &plan) {
  if (plan.launch == Launch::local)
    for (const geometry::Axis &axis : plan.mesh)
      if (axis.size > 1 &&
          geometry::useOf(axis.name) != geometry::AxisUse::Places)
        return ("--launch local is one process " +
                Twine(geometry::useOf(axis.name) == geometry::AxisUse::Batch
                          ? "without data-parallel ranks"
                          : "whose places are not cut further") +
                "; leave " + Twine(axis.name) + "=" + Twine(axis.size) +
                " out of --mesh, or --launch local")
            .str();
  if (std::string wrong = plan.mesh.check(); !wrong.empty())
    return "--mesh: " + wrong;
  if (plan.microbatches < 1 || plan.batch.value_or(1) < 1)
    return "--microbatches and --batch: at least 1";
  if (plan.mesh.ranks() > kMostRanks)
    return ("--mesh: makes " + Twine(plan.mesh.ranks()) + " ranks, more than " +
            Twine(kMostRanks))
        .str();
  if (plan.microbatches > PlanOptions::kMostMicrobatches)
    return ("--microbatches: at most " + Twine(PlanOptions::kMostMicrobatches) +
            ", not " + Twine(plan.microbatches))
        .str();
  if (plan.batch && *plan.batch > kMostRows)
    return ("--batch: at most " + Twine(kMostRows) + " rows, not " +
            Twine(*plan.batch))
        .str();
  int64_t tiles = plan.mesh.batchParts() * plan.microbatches;
  if (plan.batch && *plan.batch % tiles != 0)
    return ("--batch " + Twine(*plan.batch) + " does not divide by " +
            Twine(plan.mesh.batchParts()) + " data-parallel ranks times " +
            Twine(plan.microbatches) + " microbatches; the next that does is " +
            Twine((*plan.batch / tiles + 1) * tiles))
        .str();
  return "";
}

/// Sets cpu and features. Returns an error if the target has no such processor.
static std::string setCpu(const Target &target, Machine &machine) {
  if (machine.cpu.empty() || machine.cpu == "native") {
    target.setNative(machine);
    return "";
  }
  SmallVector<StringRef> known = target.getCpus();
  if (llvm::is_contained(known, machine.cpu))
    return "";
  std::string question = ppopt::askForNearest(machine.cpu, known);
  return "--cpu: unknown processor '" + machine.cpu + "'" +
         (question.empty() ? "; 'native' is this one" : question);
}

/// Sets gpu. Returns an error if the target has no such GPU.
static std::string setGpu(const Target &target, Machine &machine) {
  SmallVector<StringRef> known = target.getGpus();
  if (known.empty())
    return machine.gpu.empty()
               ? ""
               : ("--gpu: ranks of --target " + target.getName() +
                  " have no GPU; add --target cuda, or leave it out")
                     .str();
  if (machine.gpu.empty())
    machine.gpu = known.front().str();
  if (!llvm::is_contained(known, machine.gpu))
    return "--gpu: unknown GPU '" + machine.gpu + "'" +
           ppopt::suggest(machine.gpu, known) +
           "; known: " + llvm::join(known, ", ");
  return "";
}

/// Returns an error if the target lacks the kernels that an option names.
static std::string checkKernels(const PlanOptions &plan, const Target &target) {
  const PlanChoices defaults;
  auto check = [&](StringRef flag, StringRef word, StringRef does) {
    if (target.hasKernels(flag))
      return std::string();
    std::string text = ("--" + flag + " " + word + ": --target " +
                        target.getName() + " " + does)
                           .str();
    for (const Target *other : getTargets())
      if (other->hasKernels(flag))
        return (text + "; add --target " + other->getName() +
                ", or leave it out")
            .str();
    return text;
  };
#define PLAN_KERNELS(FIELD, TYPE, DEFAULT, WORDS, FLAG, OTHERS, ...)           \
  if (plan.FIELD != defaults.FIELD)                                            \
    if (std::string wrong = check(FLAG, schema::spell(plan.FIELD), OTHERS);    \
        !wrong.empty())                                                        \
      return wrong;
#include "schema/plan_options.def"
  return "";
}

/// Sets the machine, and checks what depends on the target.
static std::string completeTarget(PlanOptions &plan) {
  Machine &machine = plan.target;
  if (machine.name.empty())
    machine.name = getTargets().front()->getName().str();
  const Target *target = findTarget(machine.name);
  if (!target)
    return "--target: unknown value '" + machine.name + "'";
  // Ranks of one machine share its cores.
  int64_t cores =
      std::max(1u, llvm::hardware_concurrency().compute_thread_count());
  if (machine.threads == 0)
    machine.threads = std::max<int64_t>(1, cores / plan.getProcesses());
  if (machine.threads > kMostThreads)
    return "--threads: at most " + std::to_string(kMostThreads) + ", not " +
           std::to_string(machine.threads);
  if (std::string wrong = setCpu(*target, machine); !wrong.empty())
    return wrong;
  if (std::string wrong = setGpu(*target, machine); !wrong.empty())
    return wrong;
  if (plan.sync != Sync::step && !machine.gpu.empty())
    return (Twine("--sync ") + schema::spell(plan.sync) +
            ": ranks of --target " + machine.name +
            " run in step; leave out --sync, or use --target cpu")
        .str();
  if (StringRef gpu = target->getDevice(machine); !gpu.empty())
    if (const Device *device = findGpu(gpu); device && !plan.device.roofline)
      plan.device = *device;
  return checkKernels(plan, *target);
}

int64_t PlanOptions::getNeighbours() const {
  return cluster ? std::min(getProcesses(), cluster->getDevicesOfMachine())
                 : getProcesses();
}

/// Checks that the cluster has a device for each rank.
static std::string checkCluster(const PlanOptions &plan) {
  if (!plan.cluster || plan.getProcesses() <= plan.cluster->getDevices())
    return "";
  return "the mesh has " + std::to_string(plan.getProcesses()) +
         " ranks, and the cluster '" + plan.cluster->name + "' " +
         std::to_string(plan.cluster->getDevices()) +
         " devices; use a smaller mesh or a larger cluster";
}

std::string pp::completePlan(PlanOptions &plan) {
  if (!plan.table)
    if (std::string wrong = setSchedule(plan, plan.schedule); !wrong.empty())
      return wrong;
  if (std::string wrong = findContradiction(plan); !wrong.empty())
    return wrong;
  if (std::string wrong = checkSizes(plan); !wrong.empty())
    return wrong;
  if (plan.nesterov && plan.optimizer != Optimizer::sgd)
    return (Twine("--nesterov goes with --optimizer sgd, not ") +
            schema::spell(plan.optimizer))
        .str();
  if (plan.ema && plan.sync != Sync::step)
    return (Twine("--ema goes with --sync step, not ") +
            schema::spell(plan.sync) +
            ": owners update parameters at other times than trainers evaluate")
        .str();
  if (std::string wrong = checkThresholds(plan.thresholds); !wrong.empty())
    return "--threshold: " + wrong;
  if (std::string wrong = checkCluster(plan); !wrong.empty())
    return wrong;
  return completeTarget(plan);
}
