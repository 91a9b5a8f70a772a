//===- live_line.h - One line of a terminal, written again and again ------===//

#ifndef PPOPT_RUNTIME_OBSERVE_LIVE_LINE_H
#define PPOPT_RUNTIME_OBSERVE_LIVE_LINE_H

#include "base/mapped_file.h"

#include <chrono>
#include <cstdio>
#include <string_view>

namespace ppopt::train {

/// The terminal that `stream` (standard output or error) goes to, if it can
/// write a line again; closed where it goes to none. Open MPI gives each rank a
/// terminal of its own, whatever mpirun writes to: then it is mpirun's output
/// that counts.
Descriptor terminalOf(std::FILE *stream);

/// The last line of a stream, as long as nothing else is written.
class LiveLine {
public:
  explicit LiveLine(std::FILE *stream)
      : stream_(stream), terminal_(terminalOf(stream)) {}
  ~LiveLine();
  LiveLine(const LiveLine &) = delete;
  LiveLine &operator=(const LiveLine &) = delete;

  /// False where there is no terminal: then nothing is to be shown.
  bool exists() const { return terminal_.isOpen(); }

  /// Whether what is shown has been there for a tenth of a second: often enough
  /// for people, and too seldom to slow the fastest steps.
  bool isDue() const;

  /// Shows the text in place of what was shown, cut where the line ends now:
  /// windows change their width.
  void show(std::string_view text);

  /// Takes it away, for another line.
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
