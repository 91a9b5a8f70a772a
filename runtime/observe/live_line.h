//===- live_line.h - A terminal line that is rewritten in place -----------===//

#ifndef PPOPT_RUNTIME_OBSERVE_LIVE_LINE_H
#define PPOPT_RUNTIME_OBSERVE_LIVE_LINE_H

#include "base/mapped_file.h"

#include <chrono>
#include <cstdio>
#include <string_view>

namespace ppopt::train {

/// Returns the terminal that `stream` (standard output or error) is connected
/// to, if it can rewrite a line; a closed descriptor otherwise. Open MPI gives
/// each rank a pseudo-terminal, whatever mpirun writes to, so under it mpirun's
/// own output decides.
Descriptor terminalOf(std::FILE *stream);

/// The last line of a stream. Nothing else may write to the stream while the
/// line is shown.
class LiveLine {
public:
  explicit LiveLine(std::FILE *stream)
      : stream_(stream), terminal_(terminalOf(stream)) {}
  ~LiveLine();
  LiveLine(const LiveLine &) = delete;
  LiveLine &operator=(const LiveLine &) = delete;

  /// Returns false if there is no terminal; then show nothing.
  bool exists() const { return terminal_.isOpen(); }

  /// Returns whether the current text has been shown for a tenth of a second.
  /// That is often enough for people and rare enough not to slow fast steps.
  bool isDue() const;

  /// Replaces the line by `text`, cut to the terminal's current width.
  void show(std::string_view text);

  /// Erases the line, so that another can be printed.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  std::FILE *const stream_;
  const Descriptor terminal_;
  bool isShown_ = false;
  Clock::time_point shown_{};
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_LIVE_LINE_H
