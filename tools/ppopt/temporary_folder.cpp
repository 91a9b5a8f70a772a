//===- temporary_folder.cpp - A folder that is removed at exit ------------===//

#include "temporary_folder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace ppopt;

static constexpr int endingSignals[] = {SIGTERM, SIGINT, SIGHUP};

/// The pipe that the signal handler writes to; a handler may do little more.
static volatile int signalPipe = -1;

static void passOn(int signal) {
  int error = errno;
  unsigned char number = signal;
  (void)!::write(signalPipe, &number, 1);
  errno = error;
}

std::string TemporaryFolder::create() {
  auto explain = [](std::error_code error) {
    SmallString<128> parent;
    sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
    return ("cannot make a temporary folder in '" + parent.str() +
            "': " + error.message() + "; TMPDIR names another folder")
        .str();
  };
  if (std::error_code error = sys::fs::createUniqueDirectory("ppopt", folder))
    return explain(error);
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return explain(std::error_code(errno, std::generic_category()));
  signalPipe = pipe[1];
  watcher = std::thread([this] { awaitSignal(); });
  for (int signal : endingSignals) {
    struct sigaction action = {};
    // Signals that nohup ignores stay ignored.
    if (::sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = passOn;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
  return "";
}

void TemporaryFolder::awaitSignal() {
  unsigned char signal = 0;
  while (::read(pipe[0], &signal, 1) < 0 && errno == EINTR)
    ;
  if (signal == 0)
    return;
  remove();
  ::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
}

/// Retries, because other threads may still create files in the folder.
void TemporaryFolder::remove() {
  constexpr int tries = 100;
  for (int i = 0; i < tries && sys::fs::exists(folder); ++i)
    (void)sys::fs::remove_directories(folder);
}

TemporaryFolder::~TemporaryFolder() {
  if (watcher.joinable()) {
    passOn(0); // an earlier signal is handled first
    watcher.join();
  }
  if (!folder.empty())
    remove();
}
