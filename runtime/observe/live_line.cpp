//===- live_line.cpp - A terminal line that is rewritten in place ---------===//

#include "observe/live_line.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ppopt::train {
namespace {

int columnsOf(int descriptor) {
  struct winsize size = {};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool canWriteAgain() {
  const char *kind = std::getenv("TERM");
  return kind && *kind && std::strcmp(kind, "dumb") != 0;
}

constexpr char kToStart[] = "\r\033[K"; // and clears the line

} // namespace

Descriptor terminalOf(std::FILE *stream) {
  int descriptor = ::fileno(stream);
  if (!canWriteAgain() || !::isatty(descriptor))
    return Descriptor();
  // A terminal without columns is a pseudo-terminal of mpirun.
  std::string path = columnsOf(descriptor) > 0
                         ? "/proc/self/fd/"
                         : "/proc/" + std::to_string(::getppid()) + "/fd/";
  path += std::to_string(descriptor);
  Descriptor terminal(
      ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return columnsOf(terminal.value()) > 0 ? std::move(terminal) : Descriptor();
}

bool LiveLine::isDue() const {
  return Clock::now() - shown_ >= std::chrono::milliseconds(100);
}

LiveLine::~LiveLine() {
  if (isShown_)
    std::fputs("\n", stream_);
}

void LiveLine::show(std::string_view text) {
  std::fputs(kToStart, stream_);
  // A full line would move the cursor to the next line.
  int columns = std::max(columnsOf(terminal_.value()), 2);
  std::string_view fits = text.substr(0, static_cast<size_t>(columns - 1));
  std::fwrite(fits.data(), 1, fits.size(), stream_);
  std::fflush(stream_);
  isShown_ = true;
  shown_ = Clock::now();
}

void LiveLine::clear() {
  if (isShown_)
    std::fputs(kToStart, stream_);
  isShown_ = false;
  shown_ = {};
}

} // namespace ppopt::train
