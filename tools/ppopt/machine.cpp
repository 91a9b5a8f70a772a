//===- machine.cpp - `ppopt machine` --------------------------------------===//

#include "commands.h"
#include "devices.h"
#include "driver.h"
#include "machine_rates.h"
#include "temporary_folder.h"
#include "write_file.h"

#include "schema/write.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::Device;

static void printMatmuls(const schema::ComputeRates &device, raw_ostream &out) {
  out << "matmuls, GFLOP/s\n";
  for (const schema::MatmulRates &grid : device.matmuls) {
    out << formatv("  {0,-5}{1,6}{2,6}", schema::spell(grid.type), "m", "n");
    for (int64_t k : grid.k)
      out << formatv("{0,10}", "k=" + std::to_string(k));
    out << formatv("  transposed, added to (aliased: {0:f2} times slower)\n",
                   grid.aliased);
    auto rate = grid.rates.begin(), transposed = grid.transposed.begin();
    for (int64_t m : grid.m)
      for (int64_t n : grid.n) {
        out << formatv("       {0,6}{1,6}", m, n);
        for (size_t i = 0; i < grid.k.size(); ++i)
          out << formatv("{0,10:f1}", *rate++);
        out << "  ";
        for (size_t i = 0; i < grid.k.size(); ++i)
          out << formatv("{0,10:f1}", *transposed++);
        out << "\n";
      }
  }
}

static void printElements(const schema::ComputeRates &device,
                          raw_ostream &out) {
  out << "attention, GFLOP/s, and its scores, per ns\n";
  for (const schema::AttentionRates &rates : device.attention)
    out << formatv("  {0,-5} forward {1:f1}, backward {2:f1}, scores {3:f2}\n",
                   schema::spell(rates.type), rates.forward, rates.backward,
                   rates.scores);
  out << "an element, ns\n";
  for (const schema::ElementRates &rates : device.elements)
    out << formatv("  {0,-5} op {1:f3}, moved {2:f3}, each further operation "
                   "{3:f3}, division {4:f3}, function {5:f3}\n",
                   schema::spell(rates.type), 1 / rates.elements,
                   1 / rates.moves, rates.operation, rates.division,
                   rates.function);
  out << "memory, GB/s, by the bytes of a launch\n ";
  for (const schema::MemoryRate &memory : device.memory)
    out << formatv(" {0} KiB: {1:f1}", memory.bytes >> 10, memory.rate);
  out << formatv("\na launch, ns: {0:f0}\n", device.launch);
}

static void printRanks(StringRef how, const schema::RankRates &rates,
                       raw_ostream &out) {
  out << formatv("  {0,-10} transfer {1:f1} us + {2:f1} GB/s, a ring's round "
                 "{3:f1} us + {4:f1} GB/s\n",
                 how, rates.transfer.latency / 1e3, rates.transfer.rate,
                 rates.collective.latency / 1e3, rates.collective.rate);
}

static void print(const Device &device, raw_ostream &out) {
  out << device.model << ", " << device.threads
      << (device.threads == 1 ? " thread\n" : " threads\n");
  printMatmuls(device, out);
  printElements(device, out);
  out << "between ranks\n";
  printRanks("threads", device.localThreads, out);
  if (device.processes)
    printRanks("processes", *device.processes, out);
  if (device.busy) {
    out << "while all ranks that there is room for compute\n";
    printMatmuls(*device.busy, out);
    printElements(*device.busy, out);
  }
}

/// Measures the links of `ranks` ranks and writes them to `path`.
static int runCluster(int64_t ranks, int64_t threads, const std::string &path,
                      const TemporaryFolder &folder,
                      const mlir::pp::CompilationSetup &setup) {
  FailureOr<schema::Level> level = measureLevel(ranks, threads, folder, setup);
  if (failed(level))
    return 1;
  mlir::pp::Cluster cluster;
  cluster.name =
      getMachineName(threads) + "-" + std::to_string(ranks) + "ranks";
  cluster.levels = {*level};
  if (failed(writeFile(machineCommand, path, schema::writeCluster(cluster))))
    return 1;
  if (path == "-")
    return 0;
  outs() << "between " << ranks << " ranks\n";
  printRanks(level->name, {level->transfer, level->collective}, outs());
  outs() << "written to " << path << "\n";
  return 0;
}

static int run(CommandLine &line, const mlir::pp::CompilationSetup &setup) {
  int64_t cores = std::max(1u, hardware_concurrency().compute_thread_count());
  std::optional<int64_t> given, ranks, rounds;
  std::string path;
  line.count("threads", given,
             "threads of a rank (default: this machine's cores, divided by the "
             "ranks of --ranks)");
  line.count("ranks", ranks,
             "measure what so many ranks of this machine send to each other "
             "instead, and write a cluster to -o FILE (docs/clusters.md)");
  line.count("rounds", rounds,
             "how often everything is measured, in turn; rates follow from the "
             "medians (default 3)");
  line.output("o", path,
              "the description (default: a file in "
              "$XDG_CONFIG_HOME/ppopt/devices, which 'compile' and 'plan' use "
              "for programs with so many threads)");
  if (std::optional<int> status = line.parse())
    return *status;
  if (ranks && *ranks < 2)
    return failUsage(machineCommand, "--ranks: at least 2 ranks send to each "
                                     "other");
  if (ranks && rounds)
    return failUsage(machineCommand, "--rounds: --ranks measures links, in one "
                                     "round");
  if (ranks && path.empty())
    return failUsage(machineCommand,
                     "--ranks writes a cluster; say where to with -o FILE");
  int64_t threads =
      given.value_or(std::max<int64_t>(1, cores / ranks.value_or(1)));
  if (threads * ranks.value_or(1) > cores && ranks)
    return failUsage(machineCommand,
                     "--ranks: this machine has " + Twine(cores) +
                         " cores, too few for " + Twine(*ranks) + " ranks of " +
                         Twine(threads) +
                         (threads == 1 ? " thread" : " threads"));
  if (threads > cores)
    return failUsage(machineCommand, "--threads: this machine has " +
                                         Twine(cores) + " cores, not " +
                                         Twine(threads));
  TemporaryFolder folder;
  if (std::string error = folder.create(); !error.empty())
    return fail(machineCommand, error);
  if (ranks)
    return runCluster(*ranks, threads, path, folder, setup);
  FailureOr<Device> device =
      measureMachine(threads, rounds.value_or(3), folder, setup);
  if (failed(device))
    return 1;
  device->model = getMachineModel();
  device->name = getMachineName(threads);
  if (path.empty()) {
    path = getDevicePath(device->name);
    StringRef parent = sys::path::parent_path(path);
    if (std::error_code error = sys::fs::create_directories(parent))
      return fail(machineCommand, "cannot make the folder '" + parent +
                                      "': " + error.message());
  }
  if (failed(writeFile(machineCommand, path, schema::writeDevice(*device))))
    return 1;
  if (path == "-")
    return 0;
  print(*device, outs());
  outs() << "written to " << path << "\n";
  return 0;
}

const Command ppopt::machineCommand = {
    "machine", "measures this machine, for estimates of time", "",
    R"(Measures how fast this machine computes and sends, and writes it as a
description by which 'compile' and 'plan' estimate times (docs/devices.md). It
compiles and runs small programs for half a minute; nothing else should run, and
a warning says if something did.

  ppopt machine
  ppopt machine --threads 1 -o one-thread.json
  ppopt machine --ranks 2 -o two-ranks.json
)",
    run};
