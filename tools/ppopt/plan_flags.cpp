//===- plan_flags.cpp - The flags of a plan -------------------------------===//

#include "plan_flags.h"

#include "devices.h"
#include "schedule_flags.h"

#include "geometry/axes.h"
#include "ppopt/Codegen/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace llvm;
using namespace ppopt;

// The values that flags take, and planned values that this version rejects.
static constexpr StringRef unlimited[] = {"unlimited"};

// The values of PLAN_LEVEL.
static constexpr StringRef levels[] = {"0", "1", "2", "3"};

// The words of each choice of plan_options.def, and its planned words.
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, LATER, ...)             \
  static constexpr StringRef FIELD##Words[] = {PPOPT_WORDS(WORDS)};            \
  static constexpr std::initializer_list<StringRef> FIELD##Later = {           \
      PPOPT_UNWRAP(LATER)};
#include "schema/plan_options.def"

// The word of a choice that takes a number (PLAN_NUMBER).
static constexpr std::string_view numberedWord(std::string_view flag) {
#define PLAN_NUMBER(FIELD, NAME, FLAG, WORD, MEANING)                          \
  if (flag == FLAG)                                                            \
    return WORD;
#include "schema/plan_options.def"
  return {};
}

static constexpr size_t countAxes(bool isPlanned) {
  size_t count = 0;
  for (const geometry::KnownAxis &axis : geometry::knownAxes)
    count += (axis.use == geometry::AxisUse::Planned) == isPlanned;
  return count;
}

template <bool isPlanned> static constexpr auto listAxes() {
  std::array<StringRef, countAxes(isPlanned)> names;
  size_t count = 0;
  for (const geometry::KnownAxis &axis : geometry::knownAxes)
    if ((axis.use == geometry::AxisUse::Planned) == isPlanned)
      names[count++] = axis.name;
  return names;
}

static constexpr auto axes = listAxes</*isPlanned=*/false>();
static constexpr auto laterAxes = listAxes</*isPlanned=*/true>();

static std::vector<ChoiceValue> listTargets() {
  std::vector<ChoiceValue> values;
  for (const mlir::pp::Target *target : mlir::pp::getTargets())
    values.push_back({target->getName(), target->getSummary()});
  return values;
}

static constexpr Flag planFlags[] = {
    {"mesh", ValueKind::Mesh, "dp=D,pp=P", "dp=1",
     "ranks along each axis of the mesh: dp splits the rows of the batch, fsdp "
     "splits them further and is the axis that --zero shards over, pp splits "
     "the model into places",
     axes, laterAxes},
    {"batch", ValueKind::Count, "N", "",
     "rows of the global batch; overrides the model's"},
    {"microbatches", ValueKind::Count, "N", "1",
     "microbatches per rank and step; gradients accumulate over them"},
    {"threads", ValueKind::Count, "N", "",
     "threads per rank (default: this machine's cores divided by the ranks)"},
    {"cpu", ValueKind::Text, "NAME", "native",
     "processor to compile for, named as in clang's -march; native is this "
     "machine's"},
    {"target", ValueKind::Choice, "NAME", "", "device that ranks run on",
     /*values=*/{}, /*later=*/{}, /*isForTests=*/false, listTargets},
    {"gpu", ValueKind::Text, "NAME", "",
     "architecture of the GPUs for --target cuda: sm_80 (default; runs on all "
     "later ones), sm_90a, sm_100, …"},
    {"schedule", ValueKind::NameOrFile, "NAME|FILE.csv", "1f1b",
     "pipeline schedule, the order of forwards and backwards on each place: "
     "naive, gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe-v, auto (the "
     "fastest in simulation), or a table in PyTorch's format"},
    {"chunks", ValueKind::Count, "N", "",
     "stages per place (default: as the schedule requires)"},
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, LATER, PLACEHOLDER,     \
                    FALLBACK, HELP, MEANING)                                   \
  {FLAG,                                                                       \
   ValueKind::Choice,                                                          \
   PLACEHOLDER,                                                                \
   FALLBACK,                                                                   \
   HELP,                                                                       \
   FIELD##Words,                                                               \
   ArrayRef<StringRef>(FIELD##Later),                                          \
   /*isForTests=*/false,                                                       \
   /*listValues=*/nullptr,                                                     \
   numberedWord(FLAG)},
#define PLAN_SWITCH(FIELD, NAME, FLAG, HELP, MEANING)                          \
  {FLAG, ValueKind::Switch, "", "", HELP},
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, PLACEHOLDER, HELP,        \
                   MEANING)                                                    \
  {FLAG,                                                                       \
   ValueKind::Choice,                                                          \
   PLACEHOLDER,                                                                \
   "0",                                                                        \
   HELP,                                                                       \
   ArrayRef(levels, MOST + 1),                                                 \
   ArrayRef(levels + MOST + 1, PLANNED - MOST)},
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, FALLBACK, HELP, MEANING)   \
  {FLAG, ValueKind::Bytes, "BYTES", FALLBACK, HELP},
#include "schema/plan_options.def"
    {"device-memory", ValueKind::Bytes, "BYTES", "unlimited",
     "memory limit per rank, e.g. 8GiB; a plan that needs more is an error",
     unlimited},
    {"block-bytes", ValueKind::Bytes, "BYTES", "",
     "chunk size: a larger value inside a task, such as the logits of a large "
     "vocabulary, is computed in blocks of rows; by default 64MiB, of --target "
     "cuda 256MiB",
     unlimited},
    {"device", ValueKind::NameOrFile, "NAME|FILE.json", "",
     "device for which times are estimated, by which the model is cut and "
     "--schedule auto chosen: one that 'ppopt machine' measured, builtin, or a "
     "GPU: a100, h100, h200 (default: $PPOPT_DEVICE, else what was measured on "
     "this machine, else builtin; for --target cuda a100 or h100, by --gpu)"},
    {"werror", ValueKind::Switch, "", "",
     "treat warnings about the model as errors"},
    {"threshold", ValueKind::Text, "NAME=N,…", "",
     "override thresholds at which the compiler generates different code",
     /*values=*/{},
     /*later=*/{},
     /*isForTests=*/true},
};

ArrayRef<Flag> ppopt::getPlanFlags() { return planFlags; }

/// Warns if the plan's processor multiplies bf16 matrices slower than f32
/// matrices.
static void warnOfBF16(const Command &command, const Arguments &arguments,
                       const mlir::pp::Target &target,
                       const mlir::pp::PlanOptions &plan) {
  std::string lack = plan.precision == schema::Precision::bf16
                         ? target.getLackForBF16(plan.target)
                         : "";
  if (lack.empty())
    return;
  // A virtual machine may hide what its processor has.
  errs() << "ppopt " << command.name
         << ": warning: --precision bf16 will be slower than f32 on "
         << (arguments.get("cpu") == "native"
                 ? "this machine (" + plan.target.cpu + "), which offers "
                 : plan.target.cpu + ", which has ")
         << lack
         << "; leave it out, or name the processor that the program will run "
            "on with --cpu\n";
}

/// Sets the options of plan_options.def. The parser allows only their words.
static void setChoices(const Arguments &arguments,
                       mlir::pp::PlanChoices &choices) {
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, ...)                    \
  if (StringRef word = arguments.get(FLAG).split('=').first; !word.empty())    \
    choices.FIELD = *mlir::pp::parseChoice<schema::TYPE>(word);
#define PLAN_SWITCH(FIELD, NAME, FLAG, ...) choices.FIELD = arguments.has(FLAG);
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, ...)                      \
  if (arguments.has(FLAG))                                                     \
    choices.FIELD = arguments.getInteger(FLAG);
#define PLAN_NUMBER(FIELD, NAME, FLAG, ...)                                    \
  arguments.get(FLAG).split('=').second.getAsInteger(10, choices.FIELD);
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, ...)                       \
  choices.FIELD = arguments.getBytes(FLAG).value_or(choices.FIELD);
#include "schema/plan_options.def"
}

FailureOr<mlir::pp::PlanOptions> ppopt::makePlan(const Command &command,
                                                 const Arguments &arguments) {
  auto reject = [&](const Twine &message) {
    fail(command, message);
    return failure();
  };

  mlir::pp::PlanOptions plan;
  plan.mesh = {};
  for (StringRef axis : split(arguments.get("mesh"), ',')) {
    auto [name, size] = axis.split('=');
    int64_t ranks = 1;
    size.getAsInteger(10, ranks);
    plan.mesh.add({name.str(), ranks});
  }
  setChoices(arguments, plan);
  plan.choosesRecompute = !arguments.has("recompute");
  plan.choosesPrefetch = !arguments.has("prefetch");
  plan.deviceMemory = arguments.getBytes("device-memory");
  if (arguments.has("block-bytes"))
    plan.blockBytes = arguments.getBytes("block-bytes").value_or(plan.kNever);
  if (arguments.has("batch"))
    plan.batch = arguments.getInteger("batch");
  plan.thresholds = arguments.get("threshold").str();
  plan.target = {arguments.get("target").str(), arguments.getInteger("threads"),
                 arguments.get("cpu").str(), /*features=*/"",
                 arguments.get("gpu").str()};
  plan.command = arguments.line;
  plan.source = arguments.positional;
  std::string wrong = setSchedule(arguments, plan);
  if (wrong.empty())
    wrong = mlir::pp::completePlan(plan);
  if (!wrong.empty())
    return reject(wrong);
  const mlir::pp::Target &target = *mlir::pp::findTarget(plan.target.name);
  plan.device = chooseDevice(arguments, plan.target.threads,
                             /*isNative=*/arguments.get("cpu") == "native",
                             target.getDevice(plan.target), wrong);
  if (!wrong.empty())
    return reject(wrong);
  warnOfBF16(command, arguments, target, plan);
  return plan;
}
