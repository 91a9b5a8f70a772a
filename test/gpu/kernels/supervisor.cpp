//===- supervisor.cpp - Runs workers, and reports -------------------------===//

#include "supervisor.h"

#include "base/error.h"
#include "worker.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ppopt::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int milliseconds(double seconds) {
  return int(std::min(seconds * 1000, 1e9)) + 1;
}

/// A child process, and the lines that it writes.
class Child {
public:
  template <typename Work> explicit Child(const Work &work) {
    int ends[2];
    if (::pipe(ends) != 0)
      throw runtime::Error("can't make a pipe: {}", std::strerror(errno));
    std::fflush(nullptr);
    process = ::fork();
    if (process < 0)
      throw runtime::Error("can't start a process: {}", std::strerror(errno));
    if (process == 0) {
      ::close(ends[0]);
      // With its parent it ends, whatever the GPU does.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    input = ends[0];
  }
  ~Child() {
    if (process > 0)
      ::kill(process, SIGKILL);
    wait();
    ::close(input);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  enum class Event { line, end, silence };

  /// Waits for a line at most that long.
  Event read(std::string &line, double seconds) {
    auto begin = Clock::now();
    for (;;) {
      size_t end = text.find('\n');
      if (end != text.npos) {
        line = text.substr(0, end);
        text.erase(0, end + 1);
        return Event::line;
      }
      double left = seconds - secondsSince(begin);
      pollfd file{input, POLLIN, 0};
      int changes = left <= 0 ? 0 : ::poll(&file, 1, milliseconds(left));
      if (changes == 0)
        return Event::silence;
      if (changes < 0 && errno == EINTR)
        continue;
      char part[1 << 16];
      ssize_t count = ::read(input, part, sizeof part);
      if (count <= 0)
        return Event::end;
      text.append(part, size_t(count));
    }
  }

  /// Waits for its end. Returns how it ended, or an empty string if well.
  std::string wait() {
    int status = 0;
    if (process <= 0)
      return "";
    ::waitpid(process, &status, 0);
    process = 0;
    if (WIFSIGNALED(status))
      return fmt::format("its process was ended by signal {} ({})",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status) ? fmt::format("its process ended with status {}",
                                             WEXITSTATUS(status))
                               : "";
  }

private:
  pid_t process = 0;
  int input = -1;
  std::string text;
};

class Supervisor {
public:
  Supervisor(const LoadedBundle &bundle, const std::vector<RunTask> &tasks,
             const Options &options);

  int run();

private:
  /// Runs a worker for tasks from `next` on. Sets `next` to the first that is
  /// still to be run.
  void runWorker();
  void take(const Record &said);
  void report(const Record &record);
  /// Reports a task that has no record.
  void reportFailure(const std::string &what, bool wasRun);
  void reportStopped(const std::string &why, size_t end);
  double secondsLeft() const {
    return options.limit > 0 ? options.limit - secondsSince(start) : 1e9;
  }

  const LoadedBundle &bundle;
  const std::vector<RunTask> &tasks;
  const Options &options;
  const Clock::time_point start = Clock::now();
  std::ofstream json;
  size_t next = 0;
  bool isRunning = false; ///< task `next` has begun
  std::string device, missing, broken;
  size_t agreeing = 0, failing = 0, notRun = 0;
};

} // namespace

Supervisor::Supervisor(const LoadedBundle &bundle,
                       const std::vector<RunTask> &tasks,
                       const Options &options)
    : bundle(bundle), tasks(tasks), options(options) {
  if (options.json.empty())
    return;
  json.open(options.json);
  if (!json)
    throw runtime::Error("can't write {}: {}", options.json,
                         std::strerror(errno));
}

void Supervisor::report(const Record &record) {
  std::fputs(spellRecord(record).c_str(), stdout);
  std::fflush(stdout);
  if (json.is_open())
    json << record.dump() << std::endl;
  if (record["agrees"].get<bool>())
    ++agreeing;
  else
    ++(record.value("run", true) ? failing : notRun);
  ++next;
  isRunning = false;
}

void Supervisor::reportFailure(const std::string &what, bool wasRun) {
  const RunTask &task = tasks[next];
  report(makeFailure(task.name(), task.form(), what, wasRun));
}

void Supervisor::reportStopped(const std::string &why, size_t end) {
  while (next < end)
    reportFailure(why, /*wasRun=*/false);
}

void Supervisor::take(const Record &said) {
  if (said.contains(message::record))
    return report(said[message::record]);
  if (said.contains(message::begin))
    isRunning = true;
  if (said.contains(message::missing))
    missing = said[message::missing];
  if (said.contains(message::broken))
    broken = said[message::broken];
  if (!said.contains(message::device) || !device.empty())
    return;
  device = said[message::device];
  std::printf("%s\n", device.c_str());
  if (json.is_open())
    json << Record{{"device", device}, {"source", bundle.source}}.dump()
         << std::endl;
}

void Supervisor::runWorker() {
  size_t begin = next, end = begin;
  while (end < tasks.size() && tasks[end].stem() == tasks[begin].stem())
    ++end;
  broken.clear();
  Child child(
      [&](int output) { work(bundle, tasks, begin, end, options, output); });
  // The driver may have to compile all kernels first.
  constexpr double patienceAtStart = 300;
  bool hasBegun = false;
  for (std::string line; next < end;) {
    double patience = hasBegun ? options.patience : patienceAtStart,
           left = secondsLeft();
    Child::Event event = child.read(line, std::min(patience, left));
    if (event == Child::Event::line) {
      hasBegun = true;
      take(Record::parse(line));
      continue;
    }
    if (event == Child::Event::silence && left <= patience) {
      if (isRunning)
        reportFailure(
            fmt::format("ended after {:.0f} s in all (--limit)", options.limit),
            /*wasRun=*/false);
      return;
    }
    if (event == Child::Event::silence) {
      std::string what = fmt::format("nothing was heard of it for {:.0f} s "
                                     "(--patience); its process is ended",
                                     patience);
      return isRunning ? reportFailure(what, true) : reportStopped(what, end);
    }
    std::string how = child.wait();
    if (isRunning)
      return reportFailure(how.empty() ? "its process has ended" : how, true);
    // It has ended after a failure, or has not begun.
    if (next > begin || !missing.empty())
      return;
    return reportStopped(
        "the GPU can't be used: " + (broken.empty() ? how : broken), end);
  }
}

int Supervisor::run() {
  while (next < tasks.size()) {
    if (secondsLeft() <= 0) {
      reportStopped(
          fmt::format("not run: {:.0f} s are over (--limit)", options.limit),
          tasks.size());
      break;
    }
    runWorker();
    if (!missing.empty()) {
      std::fprintf(stderr, "ppopt-gpu-kernels: %s\n", missing.c_str());
      return 3;
    }
  }
  std::printf("%zu agree, %zu do not, %zu were not run, in %.1f s\n", agreeing,
              failing, notRun, secondsSince(start));
  return failing + notRun ? 1 : 0;
}

int supervise(const LoadedBundle &bundle, const std::vector<RunTask> &tasks,
              const Options &options) {
  return Supervisor(bundle, tasks, options).run();
}

} // namespace ppopt::gpu
