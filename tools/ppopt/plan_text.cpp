//===- plan_text.cpp - Prints a plan's report as text ---------------------===//

#include "plan_text.h"

#include "devices.h"

#include "ppopt/Program/ListRanks.h"
#include "ppopt/Report/Pebble.h"
#include "ppopt/byte_amount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::PlaceReport;
using mlir::pp::PlanOptions;
using mlir::pp::PlanReport;
using mlir::pp::StageReport;
using mlir::pp::TaskTraffic;
using schedule::Boundary;

std::string ppopt::spellCount(int64_t count) {
  std::string digits = std::to_string(count);
  for (int at = int(digits.size()) - 3; at > (count < 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string ppopt::spellTime(double nanoseconds) {
  if (nanoseconds >= 1e9)
    return formatv("{0:f2} s", nanoseconds / 1e9).str();
  if (nanoseconds >= 1e6)
    return formatv("{0:f2} ms", nanoseconds / 1e6).str();
  return formatv("{0:f1} us", nanoseconds / 1e3).str();
}

/// Returns ", sync stale=4"; empty if all ranks run in step.
static std::string describeSync(const PlanOptions &plan) {
  if (plan.sync == schema::Sync::step)
    return "";
  return (Twine(", sync ") + schema::spell(plan.sync) +
          (plan.bound > 0 ? "=" + Twine(plan.bound) : Twine()))
      .str();
}

std::string ppopt::describePlan(const PlanOptions &plan,
                                const PlanReport &report) {
  std::string text;
  raw_string_ostream out(text);
  for (const geometry::Axis &axis : plan.mesh)
    out << axis.name << "=" << axis.size << " ";
  text.pop_back();
  out << ", batch " << report.batch << ", microbatches " << plan.microbatches
      << ", " << plan.schedule << ", recompute "
      << schema::spell(plan.recompute) << ", " << schema::spell(plan.optimizer)
      << (plan.zero > 0 ? ", zero " + std::to_string(plan.zero) : "")
      << (plan.precision == schema::Precision::model ? "" : ", bf16")
      << describeSync(plan) << ", threads " << plan.target.threads << ", "
      << plan.target.cpu;
  return text;
}

//===----------------------------------------------------------------------===//
// Stages and transfers
//===----------------------------------------------------------------------===//

static void printStage(size_t number, int place, const StageReport &stage,
                       bool hasBackward, raw_ostream &out) {
  constexpr size_t shown = 6;
  int64_t bytes = 0;
  std::string names;
  size_t count = stage.note.parameters.size();
  for (auto [i, parameter] : enumerate(stage.note.parameters)) {
    bytes += parameter.bytes;
    // Of a long list, print the first names and the last.
    if (i < shown - 1 || i + 1 == count)
      names += " " + parameter.name;
    else if (i == shown - 1)
      names += " (" + std::to_string(count - shown) + " more)";
  }
  out << "  stage " << number << " on place " << place << ": " << stage.ops
      << " ops" << (hasBackward ? "" : ", no backward");
  if (!stage.note.inputs.empty())
    out << ", reads " << join(stage.note.inputs, ", ");
  out << "\n";
  if (!names.empty())
    out << "    " << spellByteAmount(bytes) << " of parameters:" << names
        << "\n";
  if (stage.savedBytes > 0)
    out << "    " << spellByteAmount(stage.savedBytes)
        << " kept from a microbatch's forward for its backward\n";
}

/// Returns " (NVLink)", the links of a group's collectives; empty without a
/// cluster.
static std::string spellLink(const PlanReport &report,
                             const std::string &group) {
  auto found = report.linkOfGroup.find(group);
  return found == report.linkOfGroup.end() ? "" : " (" + found->second + ")";
}

/// Transfers in module order: values, then the gradients that come back.
static void printTransfers(const PlanReport &report, raw_ostream &out) {
  StringMap<const Boundary *> sent;
  for (const StageReport &stage : report.stages)
    for (const Boundary &boundary : stage.note.boundaries)
      if (!boundary.isReceived)
        sent[boundary.name] = &boundary;
  out << "\ntransfers of each microbatch\n";
  for (auto [number, name] : enumerate(report.edgeNames)) {
    const schedule::Edge &edge = report.graph.edges[number];
    const Boundary &boundary = *sent.lookup(name);
    out << formatv("  {0,-5} place {1} to {2} (stage {3} to {4})  {5}  {6}  ",
                   name, report.graph.stages[edge.from].place,
                   report.graph.stages[edge.to].place, edge.from, edge.to,
                   boundary.type, spellByteAmount(boundary.bytes))
        << (boundary.link.empty() ? "" : "over " + boundary.link + ", ")
        << (boundary.isGradient     ? "a gradient"
            : boundary.requiresGrad ? "requires_grad"
                                    : "no gradient comes back")
        << "\n";
  }
}

static void printLoans(const PlanReport &report, raw_ostream &out) {
  if (report.loans.empty())
    return;
  out << "\ntransfers of each step\n";
  for (const mlir::pp::LoanReport &loan : report.loans)
    out << formatv("  {0,-5} place {1} to {2}  {3}  {4}\n", loan.name,
                   loan.from, loan.to, spellByteAmount(loan.bytes),
                   loan.isGradient ? "gradients of what is borrowed"
                                   : "parameters that are lent");
}

static void printStages(const PlanReport &report, raw_ostream &out) {
  out << "\nstages\n";
  for (auto [number, stage] : enumerate(report.stages)) {
    const schedule::Stage &node = report.graph.stages[number];
    printStage(number, node.place, stage, node.hasBackward, out);
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// A table of numbers with one column per place, printed in blocks of columns
/// that fit a screen.
class PlaceTable {
public:
  explicit PlaceTable(const PlanReport &report) : report(report) {}

  using Cell = function_ref<std::string(const PlaceReport &)>;
  void add(StringRef label, Cell cell) {
    rows.push_back({label.str(), {}});
    for (const PlaceReport &place : report.places)
      rows.back().second.push_back(cell(place));
  }
  void addCount(StringRef label,
                function_ref<int64_t(const PlaceReport &)> count) {
    add(label, [&](const PlaceReport &of) { return spellCount(count(of)); });
  }

  /// A single place needs no column heading.
  void print(StringRef title, raw_ostream &out) const {
    size_t places = report.places.size();
    for (size_t begin = 0; begin < places; begin += kColumns) {
      size_t end = std::min(begin + kColumns, places);
      out << "\n";
      if (places == 1) {
        out << title << "\n";
      } else {
        out << left_justify(title, kLabel);
        for (size_t place = begin; place < end; ++place)
          out << right_justify("place " + std::to_string(place), kWidth);
        out << "\n";
      }
      for (const auto &[label, cells] : rows) {
        out << "  " << left_justify(label, kLabel - 2);
        for (size_t place = begin; place < end; ++place)
          out << right_justify(cells[place], kWidth);
        out << "\n";
      }
    }
  }

private:
  static constexpr unsigned kLabel = 20, kWidth = 18, kColumns = 6;

  const PlanReport &report;
  SmallVector<std::pair<std::string, std::vector<std::string>>> rows;
};
} // namespace

static std::string spellRanks(const PlaceReport &place) {
  return mlir::pp::listRanks(place.ranks, 3);
}

int64_t ppopt::sumSent(const PlaceReport &place) {
  int64_t bytes = 0;
  for (auto [to, sent] : place.sentTo)
    bytes += sent;
  return bytes;
}

/// Returns the axis beside the batch's own that splits the batch, if the mesh
/// has one of more than one rank.
static const geometry::Axis *findShardAxis(const geometry::Mesh &mesh) {
  for (const geometry::Axis &axis : mesh)
    if (axis.size > 1 && axis.name != geometry::batchAxis &&
        geometry::useOf(axis.name) == geometry::AxisUse::Batch)
      return &axis;
  return nullptr;
}

/// Returns the bytes of parameters, gradients and optimizer states per
/// parameter that learns.
static double getStateBytes(const PlaceReport &place) {
  int64_t bytes = 0;
  for (StringRef kind : {"parameters", "gradients", "optimizer"})
    bytes += place.memory.lookup(kind);
  return place.learned > 0 ? double(bytes) / place.learned : 0;
}

static StringRef describe(const mlir::pp::ShardReport &shard) {
  if (shard.isConstant)
    return "parameters that are not trained";
  switch (shard.state) {
  case mlir::pp::ShardedState::States:
    return "optimizer states";
  case mlir::pp::ShardedState::Gradients:
    return "gradients and optimizer states";
  case mlir::pp::ShardedState::Parameters:
    return "parameters, gradients and optimizer states";
  }
  llvm_unreachable("all states are listed");
}

/// Prints over which ranks what is sharded, or that nothing is where the mesh
/// may have been meant so.
static void printShards(const PlanOptions &plan, const PlanReport &report,
                        raw_ostream &out) {
  if (const geometry::Axis *axis = findShardAxis(plan.mesh);
      axis && plan.zero == 0)
    out << "\n"
        << axis->name << "=" << axis->size << " without --zero (stage 0) "
        << "splits the batch only; --zero 1 shards the optimizer's states\n";
  if (report.shards.empty())
    return;
  StringRef before;
  for (const mlir::pp::ShardReport &shard : report.shards) {
    if (StringRef what = describe(shard); what != before) {
      out << "\n" << what << ", sharded\n";
      before = what;
    }
    out << "  over ";
    interleave(
        shard.group.getAxes(), out,
        [&](mlir::StringAttr axis) { out << axis.getValue(); }, " and ");
    if (!shard.group.getAmong().empty()) {
      out << " of places ";
      interleaveComma(shard.group.getAmong(), out);
    }
    out << ", " << shard.ranks << " ranks: " << shard.parameters
        << (shard.parameters == 1 ? " parameter\n" : " parameters\n");
  }
}

static void printMemory(const PlanReport &report, raw_ostream &out) {
  PlaceTable table(report);
  if (report.places.size() > 1)
    table.add("ranks", spellRanks);
  for (auto &[kind, bytes] : report.places.front().memory) {
    StringRef name = kind;
    table.addCount(name, [&](const PlaceReport &place) {
      return place.memory.lookup(name);
    });
    if (any_of(report.places, [&](const PlaceReport &place) {
          return place.elsewhereBytes.contains(name);
        }))
      table.addCount("  with --zero 0", [&](const PlaceReport &place) {
        return place.memory.lookup(name) + place.elsewhereBytes.lookup(name);
      });
  }
  auto getNccl = [](const PlaceReport &place) { return place.ncclBytes; };
  if (any_of(report.places, getNccl))
    table.addCount("buffers of NCCL", getNccl);
  table.addCount("all", [](const PlaceReport &p) { return p.getBytes(); });
  // Memory that --device-memory does not limit: buffers for prefetching and for
  // checkpoints.
  table.addCount("inputs read ahead", [](const PlaceReport &place) {
    return place.memory.lookup("inputs");
  });
  table.addCount("checkpoint copy",
                 [](const PlaceReport &p) { return p.checkpointBytes; });
  table.addCount("saved / microbatch",
                 [](const PlaceReport &p) { return p.savedBytes; });
  if (!report.shards.empty())
    table.add("state / parameter", [](const PlaceReport &place) {
      return formatv("{0:f2}", getStateBytes(place)).str();
    });
  table.print("bytes of a rank", out);
}

/// Prints what the ZeRO paper counts for the stage, with Adam: per parameter,
/// in f32 and with bf16 parameters and gradients beside f32 masters. It counts
/// no parameters that are not trained.
static void printPaper(const PlanOptions &plan, const PlanReport &report,
                       raw_ostream &out) {
  if (report.shards.empty() || report.shards.back().isConstant ||
      plan.optimizer == schema::Optimizer::sgd)
    return;
  struct Row {
    int whole, sharded; ///< bytes on each rank, and over n of them
  };
  static constexpr Row rows[] = {{16, 0}, {8, 8}, {4, 12}, {0, 16}};
  static constexpr Row mixed[] = {{16, 0}, {4, 12}, {2, 14}, {0, 16}};
  int64_t ranks = report.shards.front().ranks;
  int64_t stage = int64_t(report.shards.front().state);
  auto spell = [&](Row row) {
    std::string text = row.whole ? std::to_string(row.whole) + " + " : "";
    return formatv("{0}{1}/{2} = {3:f2}", text, row.sharded, ranks,
                   row.whole + double(row.sharded) / ranks)
        .str();
  };
  bool isMixed = plan.precision == schema::Precision::bf16;
  out << "  (the ZeRO paper's stage " << stage << ": "
      << spell(isMixed ? mixed[stage] : rows[stage])
      << (isMixed ? "; here parameters and gradients are kept in f32, and "
                    "converted in tasks)\n"
                  : ")\n");
}

/// Says what collectives inside tasks cost where microbatches repeat them.
static void printRepeated(const PlanOptions &plan, const PlanReport &report,
                          raw_ostream &out) {
  if (report.microbatches == 1)
    return;
  TaskTraffic gathers, sums;
  for (const PlaceReport &place : report.places) {
    auto keepMost = [](TaskTraffic &most, const TaskTraffic &other) {
      if (other.bytes > most.bytes)
        most = other;
    };
    keepMost(gathers, place.gathers);
    keepMost(sums, place.sums);
  }
  auto print = [&](StringRef what, const TaskTraffic &traffic, StringRef hint) {
    if (traffic.bytes > traffic.once)
      out << "tasks " << what << " once per microbatch: a rank sends "
          << spellCount(traffic.bytes) << " bytes; " << hint << " sends "
          << spellCount(traffic.once) << "\n";
  };
  if (gathers.bytes > gathers.once || sums.bytes > sums.once)
    out << "\n";
  print("gather parameters", gathers, "--gather step");
  print("sum gradients", sums, "--zero 1");
}

/// Calls `visit` with the collectives inside the tasks of each stage.
static void
forEachInTasks(const PlanReport &report,
               function_ref<void(const schedule::StageCollective &)> visit) {
  for (const schedule::Stage &stage : report.graph.stages)
    for (auto work :
         {schedule::Work::Forward, schedule::Work::Backward,
          schedule::Work::BackwardInput, schedule::Work::BackwardWeight})
      for (const auto &collective : schedule::getCollectives(stage, work))
        visit(collective);
}

bool ppopt::hasCollectivesInTasks(const PlanReport &report) {
  bool has = false;
  forEachInTasks(report, [&](const auto &) { has = true; });
  return has;
}

/// Prints the collectives of values, those that are made at one line of the
/// model and in one task together.
static void printReshards(const PlanReport &report, raw_ostream &out) {
  struct Row {
    schedule::StageCollective first;
    int64_t count = 0;
    double hidden = 0, exposed = 0;
  };
  std::vector<Row> rows;
  int64_t sent = 0;
  forEachInTasks(report, [&](const schedule::StageCollective &each) {
    if (each.isOfBucket)
      return;
    auto found = find_if(rows, [&](const Row &row) {
      return row.first.task == each.task && row.first.kind == each.kind &&
             row.first.name == each.name && row.first.bytes == each.bytes;
    });
    if (found == rows.end())
      found = rows.insert(rows.end(), {each});
    ++found->count;
    found->hidden += each.hidden;
    found->exposed += each.getExposed();
    sent += each.bytesSent;
  });
  if (rows.empty())
    return;
  out << "\ncollectives of each microbatch\n";
  for (const Row &row : rows)
    out << formatv("  {0,-6} {1,-24}  {2,9} x {3}  hidden {4}, exposed "
                   "{5}  {6}\n",
                   row.first.task,
                   row.first.kind + (" over " + row.first.group) +
                       spellLink(report, row.first.group),
                   spellByteAmount(row.first.bytes), row.count,
                   spellTime(row.hidden), spellTime(row.exposed),
                   row.first.value);
  out << (report.places.size() == 1 ? "  a rank sends "
                                    : "  one rank of each place, together, "
                                      "sends ")
      << spellCount(sent) << " bytes\n";
}

/// Prints which links each group's collectives and the transfers cross.
static void printLinks(const PlanReport &report, const std::string &cluster,
                       raw_ostream &out) {
  std::map<std::string, SmallVector<std::string>> users;
  for (const auto &[group, link] : report.linkOfGroup)
    users[link].push_back("collectives over " + group);
  for (const StageReport &stage : report.stages)
    for (const Boundary &boundary : stage.note.boundaries)
      if (!boundary.isReceived &&
          !is_contained(users[boundary.link], "transfers"))
        users[boundary.link].push_back("transfers");
  out << "\nlinks of the cluster '" << cluster << "'\n";
  for (const auto &[link, names] : users)
    out << formatv("  {0,-12} {1}\n", link, join(names, ", "));
}

static void printWork(const PlanReport &report, bool isLocal,
                      raw_ostream &out) {
  PlaceTable table(report);
  table.addCount("FLOPs", [](const PlaceReport &p) { return p.flops; });
  table.addCount("  recomputed",
                 [](const PlaceReport &p) { return p.recomputedFlops; });
  table.addCount("launches", [](const PlaceReport &p) { return p.launches; });
  table.addCount("bytes sent",
                 [](const PlaceReport &p) { return p.bytesSent; });
  if (report.trainers > 1) {
    table.addCount("  parameters pulled",
                   [](const PlaceReport &p) { return p.pulledBytes; });
    table.addCount("  gradients pushed",
                   [](const PlaceReport &p) { return p.pushedBytes; });
  }
  if (report.places.size() > 1) {
    for (auto [to, _] : enumerate(report.places))
      if (any_of(report.places, [to = to](const PlaceReport &place) {
            return place.sentTo.count(to);
          }))
        table.addCount("  to place " + std::to_string(to),
                       [to = to](const PlaceReport &place) {
                         auto found = place.sentTo.find(to);
                         return found == place.sentTo.end() ? 0 : found->second;
                       });
    table.addCount("  in collectives", [](const PlaceReport &p) {
      return p.bytesSent - sumSent(p);
    });
  }
  // With --launch local, places have no schedules of their own.
  if (report.places.size() > 1 && !isLocal)
    table.addCount("in flight",
                   [](const PlaceReport &p) { return p.inFlight; });
  if (!isLocal)
    table.add("idle, predicted", [](const PlaceReport &p) {
      return formatv("{0:f1} %", 100 * p.idleShare).str();
    });
  if (hasCollectivesInTasks(report)) {
    table.add("in tasks, exposed",
              [](const PlaceReport &p) { return spellTime(p.exposed); });
    table.add("in tasks, hidden",
              [](const PlaceReport &p) { return spellTime(p.hidden); });
  }
  table.print("a rank's step", out);
}

/// Prints what each kernel takes of a step on a GPU, where the time of a launch
/// is that of its FLOPs and elements or of its bytes, whichever is longer.
static void printKernels(const PlanReport &report, raw_ostream &out) {
  for (auto [number, place] : enumerate(report.places)) {
    out << "\nkernels of a rank's step";
    if (report.places.size() > 1)
      out << " on place " << number;
    out << ", predicted\n  launches    MB each  GFLOP each    us each      ms  "
           "bound by\n";
    double bytes = 0, time = 0, ofKernels = 0;
    for (const mlir::pp::KernelReport &kernel : place.kernels) {
      auto launches = static_cast<double>(kernel.launches);
      out << formatv("  {0,8}  {1,9:f3}  {2,10:f3}  {3,9:f1}  {4,6:f3}  "
                     "{5,-8}  {6}\n",
                     kernel.launches, kernel.bytes / 1e6, kernel.flops / 1e9,
                     kernel.time / launches / 1e3, kernel.time / 1e6,
                     kernel.isBoundByMemory ? "memory" : "compute",
                     kernel.name);
      time += kernel.time;
      if (StringRef(kernel.name).starts_with("matmul_"))
        continue;
      bytes += launches * kernel.bytes;
      ofKernels += kernel.time;
    }
    out << formatv("  kernels {0:f3} GB, {1:f3} ms; matmuls {2:f3} ms\n",
                   bytes / 1e9, ofKernels / 1e6, (time - ofKernels) / 1e6);
  }
}

void ppopt::printReport(const PlanOptions &plan, const PlanReport &report,
                        raw_ostream &out) {
  out << plan.source << ": " << describePlan(plan, report) << "\n";
  if (report.places.size() > 1) {
    printStages(report, out);
    printTransfers(report, out);
    printLoans(report, out);
  }
  printReshards(report, out);
  printShards(plan, report, out);
  if (plan.cluster)
    printLinks(report, plan.cluster->name, out);
  printMemory(report, out);
  printPaper(plan, report, out);
  bool isLocal = plan.launch == schema::Launch::local;
  printWork(report, isLocal, out);
  if (plan.device.roofline)
    printKernels(report, out);
  printRepeated(plan, report, out);
  if (isLocal)
    return;
  out << "\n" << describeDevice(plan.device, plan.target.threads) << "\n";
  out << "\nthe step, predicted: " << spellTime(report.timeline.end);
  if (report.timeline.end > 0) // in nanoseconds
    out << llvm::formatv(
        ", {0:N0} {1}/s",
        std::llround(1e9 * double(report.work) / double(report.timeline.end)),
        report.workUnit);
  out << "\n";
  if (report.places.size() > 1)
    out << schedule::drawPebbles(report.timeline, report.graph, {});
}
