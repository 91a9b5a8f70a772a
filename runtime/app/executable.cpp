//===- executable.cpp - A compiled program as a command -------------------===//

#include "app/executable.h"

#include "app/agreement.h"
#include "app/command_line.h"
#include "app/cpu_check.h"
#include "app/job.h"
#include "app/native_collectives.h"
#include "app/needs.h"
#include "app/training_loop.h"
#include "base/missing_device.h"
#include "base/printed_output.h"
#include "base/stop_signals.h"
#include "comm/mpi_module.h"
#include "comm/thread_transport.h"
#include "executor/devices.h"
#include "executor/messages.h"
#include "files/standard_streams.h"
#include "files/system_error.h"
#include "observe/describe.h"
#include "options/launch_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include <sys/time.h>

namespace ppopt::train {
namespace {

using runtime::Program;

constexpr int kFailed = 1, kUsage = 2, kMissingDevice = 3;

void printError(const std::string &message) {
  std::string line = "error: " + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Everything before the first step. Every rank of a job prepares by itself and
/// usually finds the same errors, which are printed once (agreeOnStart).
/// `alone` is the launcher of several processes that cannot communicate.
class Startup {
public:
  Startup(const CompiledProgram &compiled,
          const std::vector<std::string> &arguments,
          const std::optional<comm::Launcher> &alone,
          const comm::Transport *transport) {
    try {
      prepare(compiled, arguments, alone, transport);
    } catch (const UsageError &error) {
      fail(kUsage, error.what());
    } catch (const runtime::MissingDevice &error) {
      fail(kMissingDevice, error.what());
    } catch (const std::exception &error) {
      fail(kFailed, error.what());
    }
  }

  int status() const { return status_; }
  const std::string &message() const { return message_; }
  /// The text to print instead of training: help or a description.
  const std::string &text() const { return text_; }
  /// The job; null if there is nothing to train.
  const Job *job() const { return job_.get(); }
  const Program &program() const { return *program_; }
  const Options &options() const { return *options_; }
  /// The program that runs.
  const StoredProgram &stored() const { return *stored_; }

private:
  void prepare(const CompiledProgram &compiled,
               const std::vector<std::string> &arguments,
               const std::optional<comm::Launcher> &alone,
               const comm::Transport *transport);
  void fail(int status, const std::string &message) {
    status_ = status;
    message_ = message;
    job_.reset();
  }

  int status_ = 0;
  std::string message_, text_;
  const StoredProgram *stored_ = nullptr;
  std::optional<Program> program_;
  std::optional<Options> options_;
  std::unique_ptr<Job> job_;
};

/// Throws because a launcher started several tasks that cannot communicate.
[[noreturn]] void refuseTasks(const comm::Launcher &launcher,
                              const runtime::Plan &plan,
                              const std::vector<std::string> &arguments) {
  bool one = plan.ranks() == 1;
  std::string ways = fmt::format(
      "start {}: {}{}",
      one ? "one task"
          : fmt::format("its {} ranks as threads of one task", plan.ranks()),
      launcher.startOne(int(plan.ranks() * plan.target.threads)),
      launchCommand(1, arguments));
  if (!one)
    ways += fmt::format("; or each as a process, without {}: {}", launcher.name,
                        launchCommand(plan.ranks(), arguments));
  throw Error(
      "{} started several tasks without MPI ({}={}), each of which "
      "would train by itself: {}; if this is the only process, unset {}",
      launcher.name, launcher.counted, std::getenv(launcher.counted.c_str()),
      ways, launcher.counted);
}

/// Returns the outputs of the model.
std::vector<runtime::Output> outputsOf(const CompiledProgram &compiled) {
  if (compiled.prediction.document.json.empty())
    return {};
  return runtime::readProgram(compiled.prediction.document).outputs;
}

void Startup::prepare(const CompiledProgram &compiled,
                      const std::vector<std::string> &arguments,
                      const std::optional<comm::Launcher> &alone,
                      const comm::Transport *transport) {
  stored_ =
      asksToPredict(arguments) ? &compiled.prediction : &compiled.training;
  if (stored_->document.json.empty())
    throw UsageError("--predict: the model has no outputs: mark results of its "
                     "function with {pp.output = \"name\"}, and compile it "
                     "again");
  program_ = runtime::readProgram(stored_->document);
  options_ = parseCommandLine(*program_, arguments);
  switch (options_->mode) {
  case Mode::Help:
    text_ = options_->help;
    return;
  case Mode::Version:
    text_ = describeVersion(*program_);
    return;
  case Mode::Describe:
    text_ = describeProgram(*program_, outputsOf(compiled), arguments);
    return;
  case Mode::DescribeJson:
    text_ = std::string(stored_->document.json) + "\n";
    return;
  case Mode::Needs:
    text_ = describeNeeds(*program_);
    return;
  case Mode::Train:
    break;
  }
  const runtime::Plan &plan = program_->plan;
  if (alone)
    refuseTasks(*alone, plan, arguments);
  if (transport && transport->size() != 1 && program_->local)
    throw Error("compiled with --launch=local: one process runs all places "
                "({}), started with {}; run: {}",
                describeMesh(plan), transport->size(),
                launchCommand(1, arguments));
  if (transport && transport->size() != plan.ranks())
    throw Error("compiled for {} rank{} ({}), started with {}; run: {}",
                plan.ranks(), plan.ranks() == 1 ? "" : "s", describeMesh(plan),
                transport->size(), launchCommand(plan.ranks(), arguments));
  if (!transport && options_->collectives == comm::Collectives::Native)
    throw UsageError(
        "--collectives=mpi: needs MPI; run: {}",
        launchCommand(std::max<int64_t>(plan.ranks(), 2), arguments));
  checkMachine(plan.target.cpu, plan.target.features);
  runtime::identifyDevices(plan.target.name); // throws if there is none
  if (options_->generate > 0)
    checkHasWholeModel(*program_);
  checkNativeCollectives(*program_, *options_);
  std::optional<int64_t> rank;
  if (transport && !program_->local)
    rank = transport->rank();
  job_ = std::make_unique<Job>(*program_, *options_, rank, compiled.buffers);
  if (options_->generate > 0)
    job_->generation = std::make_unique<GenerationJob>(compiled.generation,
                                                       *program_, *options_);
}

/// The ranks that could not start.
struct FailedStarts {
  int32_t lowest; ///< -1: none
  int32_t count;
};

/// Called by all ranks; returns the same on all of them.
FailedStarts agreeOnStart(comm::Transport &transport, bool failed) {
  transport.reserve(1);
  Messages messages(transport, /*channel=*/0); // no step has begun
  int32_t own = failed;
  std::vector<int32_t> all(transport.size());
  messages.gather(&own, sizeof own, all.data());
  auto first = std::find(all.begin(), all.end(), 1);
  FailedStarts failures{first == all.end() ? -1 : int32_t(first - all.begin()),
                        int32_t(std::count(all.begin(), all.end(), 1))};
  messages.broadcast(&failures, sizeof failures);
  return failures;
}

/// The signals that stop a run, SIGALRM when `seconds` have passed among them;
/// 0: never.
class LimitedRun {
public:
  explicit LimitedRun(double seconds) {
    setTimer(int64_t(std::ceil(seconds * 1e6)));
  }
  ~LimitedRun() { setTimer(0); }
  LimitedRun(const LimitedRun &) = delete;
  LimitedRun &operator=(const LimitedRun &) = delete;

private:
  static void setTimer(int64_t microseconds) {
    itimerval timer = {};
    timer.it_value.tv_sec = time_t(microseconds / 1'000'000);
    timer.it_value.tv_usec = suseconds_t(microseconds % 1'000'000);
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }

  StopSignals signals;
};

/// Runs one rank of an MPI job.
int runMpiProcess(const CompiledProgram &compiled,
                  const std::vector<std::string> &arguments,
                  comm::Transport &transport) {
  Startup startup(compiled, arguments, std::nullopt, &transport);
  if (startup.job())
    transport.activity().setTimeout(startup.job()->options.timeout);
  FailedStarts failures = agreeOnStart(transport, startup.status() != 0);
  if (failures.count > 0) {
    if (transport.rank() == failures.lowest)
      printError(failures.count == transport.size()
                     ? startup.message()
                     : fmt::format("rank {} (on {}): {}", failures.lowest,
                                   hostName(), startup.message()));
    return startup.status() != 0 ? startup.status() : kFailed;
  }
  checkAgreement(transport,
                 collectCommonFacts(startup.options(), startup.job()));
  if (startup.job()) {
    LimitedRun limited(startup.job()->options.timeLimit);
    int status = runRank(*startup.job(), startup.stored(), &transport);
    // A signal may have stopped work that only one rank does (--generate).
    transport.reserve(2);
    return Messages(transport, /*channel=*/0).greatest(status);
  }
  if (transport.rank() == 0)
    printOutput(startup.text());
  return 0;
}

/// Runs all ranks as threads of this process.
int runThreads(const CompiledProgram &compiled,
               const std::vector<std::string> &arguments,
               const std::optional<comm::Launcher> &alone) {
  Startup startup(compiled, arguments, alone, nullptr);
  if (startup.status() != 0) {
    printError(startup.message());
    return startup.status();
  }
  if (!startup.job()) {
    printOutput(startup.text());
    return 0;
  }
  LimitedRun limited(startup.job()->options.timeLimit);
  int ranks = static_cast<int>(startup.program().plan.ranks());
  if (ranks == 1)
    return runRank(*startup.job(), startup.stored(), nullptr);
  int status = 0;
  comm::runThreadRanks(ranks, [&](comm::Transport &transport) {
    transport.activity().setTimeout(startup.job()->options.timeout);
    int own = runRank(*startup.job(), startup.stored(), &transport);
    if (transport.rank() == 0)
      status = own;
  });
  return status;
}

/// Returns `status`, or kFailed if standard output could not be written.
int expectOutput(int status) {
  std::string lost = lostOutput();
  if (lost.empty() || status != 0)
    return status;
  printError(lost);
  return kFailed;
}

} // namespace

int runExecutable(const CompiledProgram &compiled,
                  const std::vector<std::string> &arguments) {
  openClosedStreams(); // before any file is opened
  reportFileSizeLimit();
  try {
    std::optional<comm::Launcher> launcher = comm::detectLauncher();
    if (!launcher || !launcher->mpi)
      return expectOutput(runThreads(compiled, arguments, launcher));
    comm::runMpiRank(*launcher, [&](comm::Transport &transport) {
      return expectOutput(runMpiProcess(compiled, arguments, transport));
    });
    return 0;
  } catch (const runtime::MissingDevice &error) {
    printError(error.what());
    return kMissingDevice;
  } catch (const std::exception &error) {
    printError(error.what());
    return kFailed;
  }
}

} // namespace ppopt::train
