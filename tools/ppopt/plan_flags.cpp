//===- plan_flags.cpp - The flags of a plan -------------------------------===//

#include "plan_flags.h"

#include "devices.h"

#include "geometry/axes.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Support/ReadFile.h"

#include "ppopt/byte_amount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <unistd.h>

using namespace llvm;
using namespace ppopt;
using mlir::pp::PlanOptions;

/// Reads "dp=2,pp=2". Returns what is wrong, empty if nothing. An axis of a
/// name that is not known cuts the model.
static std::string readMesh(StringRef value, geometry::Mesh &mesh) {
  mesh = {};
  for (StringRef axis : split(value, ',')) {
    auto [name, size] = axis.split('=');
    int64_t number;
    if (name.empty() || size.empty())
      return ("'" + axis + "' is not AXIS=SIZE, e.g. dp=2").str();
    if (geometry::useOf(name) == geometry::AxisUse::Planned)
      return ("this version does not partition over the axis '" + name +
              "'; give an axis that cuts the model another name")
          .str();
    if (!isAlpha(name.front()) || !all_of(name, isAlnum))
      return ("'" + name + "' is no name of an axis: letters and digits").str();
    if (mesh.has(name.str()))
      return ("the axis '" + name + "' is given twice").str();
    if (size.getAsInteger(10, number) || number < 1 ||
        number > mlir::pp::kLargestAxis)
      return ("the size of '" + name + "' must be a whole number from 1 to " +
              Twine(mlir::pp::kLargestAxis) + ", not '" + size + "'")
          .str();
    mesh.add({name.str(), number});
  }
  return "";
}

/// Adds the number that a word of the choice takes, if one does (PLAN_NUMBER).
static Words addNumber(StringRef flag, Words words, PlanOptions &plan) {
#define PLAN_NUMBER(FIELD, NAME, FLAG, WORD, MEANING)                          \
  if (flag == FLAG) {                                                          \
    words.numbered = WORD;                                                     \
    words.number = &plan.FIELD;                                                \
  }
#include "schema/plan_options.def"
  return words;
}

/// Returns "0" to "3": the first `count` levels, and those up to `planned`.
static Words listLevels(size_t count, size_t planned) {
  static constexpr StringRef levels[] = {"0", "1", "2", "3"};
  return {ArrayRef(levels).take_front(count).vec(),
          ArrayRef(levels).slice(count, planned - count).vec()};
}

/// Declares the options of plan_options.def.
static void addChoices(CommandLine &line, PlanOptions &plan) {
#define PLAN_CHOICE(FIELD, TYPE, DEFAULT, WORDS, FLAG, LATER, PLACEHOLDER,     \
                    FALLBACK, HELP, MEANING)                                   \
  line.choice(                                                                 \
      FLAG, PLACEHOLDER,                                                       \
      addNumber(FLAG, {{PPOPT_WORDS(WORDS)}, {PPOPT_UNWRAP(LATER)}}, plan),    \
      FALLBACK, HELP, [&plan](StringRef word) {                                \
        plan.FIELD = *mlir::pp::parseChoice<schema::TYPE>(word);               \
      });
#define PLAN_SWITCH(FIELD, NAME, FLAG, HELP, MEANING)                          \
  line.toggle(FLAG, plan.FIELD, HELP);
#define PLAN_LEVEL(FIELD, NAME, MOST, PLANNED, FLAG, PLACEHOLDER, HELP,        \
                   MEANING)                                                    \
  line.choice(                                                                 \
      FLAG, PLACEHOLDER, listLevels((MOST) + 1, (PLANNED) + 1), "0", HELP,     \
      [&plan](StringRef level) { level.getAsInteger(10, plan.FIELD); });
#define PLAN_BYTES(FIELD, NAME, KEY, DEFAULT, FLAG, FALLBACK, HELP, MEANING)   \
  line.bytes(FLAG, plan.FIELD, withDefault(HELP, FALLBACK));
#include "schema/plan_options.def"
}

PlanFlags::PlanFlags(CommandLine &line) : line(line) {
  line.endGroup();
  line.value(
      "mesh", "dp=D,pp=P",
      "ranks along each axis of the mesh: dp splits the rows of the "
      "batch, fsdp splits them further and is the axis that --zero "
      "shards over, pp splits the model into places, tp and all other names "
      "cut what the model or --shard annotates with them (default dp=1)",
      [this](StringRef value) { return readMesh(value, plan.mesh); });
  line.nameOrFlags(
      "plan", "auto|FILE",
      "auto: choose the mesh, the ZeRO stage, the microbatches, what is "
      "recomputed and the schedule, by the predicted step, among all plans of "
      "--ranks that fit; a flag that is given stays. Or a file with flags, as "
      "'ppopt plan --plan auto --emit plan' writes it",
      [this](StringRef value) -> std::string {
        isAuto = value == "auto";
        return isAuto ? ""
                      : ("unknown value '" + value +
                         "'; it takes 'auto', or a file whose name has a "
                         "dot or a slash")
                            .str();
      });
  line.count("ranks", ranks, "with --plan auto, the number of ranks");
  line.value("keep", "dp=D,…",
             "with --plan auto, sizes of axes that stay: dp, fsdp, tp, pp",
             [this](StringRef value) { return readMesh(value, kept); });
  line.count("most-compilations", mostCompiled,
             "with --plan auto, how often the whole model is compiled at most, "
             "once there is a plan (default: 100,000 ops in all, and 48 "
             "times); what is then not proved is said");
  line.text("shard", "'GLOB=SHARDING; …'", plan.shard,
            "how parameters and inputs whose names match are cut, such as "
            "'*.fc.weight=[{}, {tp}]', instead of as the model annotates them; "
            "auto: what is predicted to be fastest for tp to cut");
  line.text("freeze", "'GLOB; …'", plan.freeze,
            "parameters whose names match are not trained: they have no "
            "gradients and no optimizer's states");
  line.text("lr-scale", "'GLOB=FACTOR; …'", plan.lrScale,
            "factors of the learning rate of parameters whose names match");
  line.text("decay", "'GLOB=FACTOR; …'", plan.decay,
            "factors of the weight decay of parameters whose names match, in "
            "place of the model's no_decay; 0: none");
  line.count("batch", plan.batch,
             "rows of the global batch; overrides the model's");
  line.count("microbatches", plan.microbatches,
             "microbatches per rank and step; gradients accumulate over them");
  plan.target.threads = 0;
  line.count("threads", plan.target.threads,
             "threads per rank (default: this machine's cores divided by the "
             "ranks)");
  plan.target.cpu = "native";
  line.text("cpu", "NAME", plan.target.cpu,
            "processor to compile for, named as in clang's -march; native is "
            "this machine's");
  Words targets;
  std::string summaries;
  for (const mlir::pp::Target *target : mlir::pp::getTargets()) {
    targets.values.push_back(target->getName());
    summaries += (summaries.empty() ? ": " : "; ") + target->getName().str() +
                 ", " + target->getSummary().str();
  }
  plan.target.name = targets.values.front().str();
  line.value(
      "target", "NAME",
      withDefault("device that ranks run on" + summaries, plan.target.name),
      [this, targets](StringRef value) {
        plan.target.name = value.str();
        return checkWord(value, targets);
      });
  line.text("gpu", "NAME", plan.target.gpu,
            "architecture of the GPUs for --target cuda: sm_80 (default; runs "
            "on all later ones), sm_90a, sm_100, …");
  line.nameOrFile(
      "schedule", "NAME|FILE.csv", schedule,
      "pipeline schedule, the order of forwards and backwards on each place: "
      "naive, gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe-v, auto (the "
      "fastest in simulation), or a table in PyTorch's format");
  line.count("chunks", plan.chunks,
             "stages per place (default: as the schedule requires)");
  addChoices(line, plan);
  line.bytes("device-memory", plan.deviceMemory, /*unlimited=*/std::nullopt,
             "memory limit per rank, e.g. 8GiB; a plan that needs more is an "
             "error (default unlimited)");
  line.bytes("block-bytes", plan.blockBytes, plan.kNever,
             "chunk size: a larger value inside a task, such as the logits of "
             "a large vocabulary, is computed in blocks of rows; by default "
             "64MiB, of --target cuda 1GiB");
  line.choice(
      "cut-transfers", "WHICH", {{"auto", "always", "never"}}, "auto",
      "values that ranks along an axis of the model (tp) agree on, which "
      "they send to another place in parts, one each, that the place "
      "gathers; auto: those for which that takes less time by the links "
      "of --cluster; always; never: each rank sends the whole value",
      [this](StringRef word) {
        plan.cutTransfers = StringSwitch<mlir::pp::TransferCuts>(word)
                                .Case("always", mlir::pp::TransferCuts::Always)
                                .Case("never", mlir::pp::TransferCuts::Never)
                                .Default(mlir::pp::TransferCuts::Auto);
      });
  line.nameOrFile(
      "device", "NAME|FILE.json", device,
      "device for which times are estimated, by which the model is cut and "
      "--schedule auto chosen: one that 'ppopt machine' measured, builtin, or "
      "a GPU: a100, h100, h200 (default: $PPOPT_DEVICE, else what was measured "
      "on this machine, else builtin; for --target cuda a100 or h100, by "
      "--gpu)");
  line.nameOrFile(
      "cluster", "NAME|FILE.json", cluster,
      "machines that ranks are on, for estimates of time: levels of links "
      "between devices, in a file or by name: dgx-a100, hgx-h100-400g, pc, "
      "cpu-rack (default: one machine with the links of the device)");
  line.toggle("werror", isStrict, "treat warnings about the model as errors");
  line.beginTests();
  line.text("threshold", "NAME=N,…", plan.thresholds,
            "override thresholds at which the compiler generates different "
            "code");
}

/// Returns an error that lists the schedules if `name` is not one of them.
static std::string checkName(StringRef name) {
  const std::vector<std::string> &names = schedule::getScheduleNames();
  // getShape rejects dualpipe with a reason.
  if (name == "auto" || is_contained(names, name) || name == "dualpipe")
    return "";
  if (sys::fs::exists(name))
    return ("--schedule: no schedule is named '" + name +
            "'; to read the file of this name, write ./" + name)
        .str();
  SmallVector<StringRef> known(names.begin(), names.end());
  known.append({"auto", "FILE.csv"});
  return ("--schedule: unknown value '" + name + "'" + suggest(name, known))
      .str();
}

/// Sets the plan's schedule, which may be a file's. If the user gave places or
/// microbatches too, checks that they agree. Returns an error.
std::string PlanFlags::setSchedule() {
  if (!isFile(schedule)) {
    plan.schedule = schedule;
    return checkName(schedule);
  }
  auto file = readTextFile(schedule);
  if (!file)
    return "--schedule: cannot read '" + schedule +
           "': " + toString(file.takeError());
  plan.tablePath = schedule;
  auto table = schedule::parseCsv((*file)->getBuffer().str());
  if (!table)
    return schedule + ": " + table.error;
  int64_t microbatches = plan.microbatches;
  std::string wrong = mlir::pp::setTable(plan, std::move(*table));
  if (wrong.empty() && plan.chunks)
    wrong = "says which stages a place has; leave --chunks out";
  if (wrong.empty() && line.has("microbatches") &&
      microbatches != plan.microbatches)
    wrong = "has " + std::to_string(plan.microbatches) +
            " microbatches, but --microbatches " + std::to_string(microbatches);
  return wrong.empty() ? "" : schedule + ": " + wrong;
}

/// Warns if the plan's processor multiplies bf16 matrices no faster than f32
/// matrices.
void PlanFlags::warnOfBF16(bool isNative) const {
  std::string lack =
      plan.precision == schema::Precision::bf16
          ? mlir::pp::findTarget(plan.target.name)->getLackForBF16(plan.target)
          : "";
  if (lack.empty())
    return;
  // A virtual machine may hide what its processor has.
  errs() << "ppopt " << line.command.name
         << ": warning: --precision bf16 will be no faster than f32 on "
         << (isNative ? "this machine (" + plan.target.cpu + "), which offers "
                      : plan.target.cpu + ", which has ")
         << lack
         << "; leave it out, or name the processor that the program will run "
            "on with --cpu\n";
}

/// Sets the plans that --plan auto chooses among. Returns an error.
std::string PlanFlags::setSpace() {
  if (!isAuto) {
    for (StringRef flag : {"ranks", "keep", "most-compilations"})
      if (line.has(flag))
        return ("--" + flag + " goes with --plan auto" +
                (flag == "most-compilations"
                     ? ""
                     : "; the sizes of --mesh say how many ranks a plan has"))
            .str();
    return "";
  }
  if (!ranks)
    return "--plan auto: say for how many ranks, as in --ranks 8";
  if (line.has("mesh"))
    return "--plan auto chooses the mesh; leave out --mesh, or keep sizes of "
           "it, as in --keep tp=2";
  if (plan.launch == schema::Launch::local)
    return "--plan auto chooses among plans of ranks; leave out --launch local";
  if (plan.sync != schema::Sync::step)
    return (Twine(
                "--plan auto compares steps of all ranks; leave out --sync ") +
            schema::spell(plan.sync))
        .str();
  if (plan.table)
    return "--plan auto chooses how many places there are, and '" +
           plan.tablePath + "' is a schedule of " +
           std::to_string(plan.table->rows.size()) +
           "; name a built-in schedule, or leave out --schedule";
  mlir::pp::PlanSpace made;
  made.ranks = *ranks;
  made.mostCompiled = mostCompiled;
  int64_t product = 1;
  for (const geometry::Axis &axis : kept) {
    if (!is_contained({"dp", "fsdp", "tp", "pp"}, axis.name))
      return "--keep: --plan auto chooses the sizes of dp, fsdp, tp and pp, "
             "not of '" +
             axis.name + "'";
    product *= axis.size;
    made.kept.push_back(axis);
  }
  if (*ranks % product != 0)
    return "--keep: " + std::to_string(product) + " does not divide --ranks " +
           std::to_string(*ranks);
  made.choosesMicrobatches = !line.has("microbatches");
  made.choosesZero = !line.has("zero");
  made.choosesRecompute = !line.has("recompute");
  made.choosesSchedule = !line.has("schedule") || schedule == "auto";
  made.choosesShards = plan.shard.empty() || plan.shard == "auto";
  if (made.choosesShards)
    plan.shard.clear();
  if (made.choosesSchedule) {
    plan.schedule = "1f1b";
    made.chunks = std::exchange(plan.chunks, std::nullopt);
  }
  space = std::move(made);
  // Each schedule can be of so many places; points have meshes of their own.
  plan.mesh = {{std::string(geometry::batchAxis), 1},
               {std::string(geometry::placeAxis), *ranks}};
  return "";
}

/// Sets the limit of --plan auto on memory, if none is given: that of the GPU,
/// or a rank's part of this machine's.
void PlanFlags::limitMemory() {
  if (plan.deviceMemory || line.has("device-memory"))
    return;
  // A context, a library's workspace and communicators.
  constexpr int64_t reserved = int64_t(4) << 30;
  if (!plan.target.gpu.empty()) {
    if (std::optional<int64_t> bytes = mlir::pp::getGpuMemory(plan.device.name))
      plan.deviceMemory = *bytes - reserved;
  } else {
    int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    plan.deviceMemory = bytes / *ranks / 10 * 9;
  }
  if (plan.deviceMemory)
    errs() << "ppopt " << line.command.name << ": note: --plan auto takes "
           << "--device-memory " << spellByteAmount(*plan.deviceMemory)
           << (plan.target.gpu.empty()
                   ? ": a rank's part of this machine's memory\n"
                   : ", of the device '" + plan.device.name + "'\n");
}

std::optional<int> PlanFlags::complete() {
  plan.command = line.getLine();
  plan.source = line.positional;
  plan.choosesRecompute = !line.has("recompute");
  plan.choosesPrefetch = !line.has("prefetch");
  bool isNative = plan.target.cpu == "native";
  std::string wrong = setSchedule();
  if (wrong.empty())
    wrong = setSpace();
  if (wrong.empty())
    plan.cluster = chooseCluster(cluster, wrong);
  if (wrong.empty())
    wrong = mlir::pp::completePlan(plan);
  if (wrong.empty())
    plan.device =
        chooseDevice(device, plan.cluster, plan.target, isNative, wrong);
  if (!wrong.empty())
    return failUsage(line.command, line.locate(wrong));
  warnOfBF16(isNative);
  if (space) {
    limitMemory();
    space->base = plan;
  }
  return std::nullopt;
}
