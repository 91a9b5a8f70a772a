//===- live_line.cpp - One line of a terminal, written again and again ----===//

#include "train/live_line.h"

#include <cstdio>
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

/// Of the process that started this one: mpirun, on this machine.
int parentsColumns() {
  std::string path = "/proc/" + std::to_string(::getppid()) + "/fd/1";
  int descriptor =
      ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return 0;
  int columns = columnsOf(descriptor);
  ::close(descriptor);
  return columns;
}

constexpr char kToStart[] = "\r\033[K"; // and clears the line

} // namespace

int terminalColumns() {
  if (!::isatty(STDOUT_FILENO))
    return 0;
  int columns = columnsOf(STDOUT_FILENO);
  return columns > 0 ? columns : parentsColumns();
}

LiveLine::~LiveLine() {
  if (isShown_)
    std::fputs("\n", stdout);
}

void LiveLine::show(std::string_view text) {
  std::fputs(kToStart, stdout);
  // A line that is full would move the cursor to the next.
  std::string_view fits = text.substr(0, static_cast<size_t>(columns_ - 1));
  std::fwrite(fits.data(), 1, fits.size(), stdout);
  std::fflush(stdout);
  isShown_ = true;
}

void LiveLine::clear() {
  if (isShown_)
    std::fputs(kToStart, stdout);
  isShown_ = false;
}

} // namespace ppopt::train
