//===- live_line.h - One line of a terminal, written again and again ------===//

#ifndef PPOPT_TRAIN_LIVE_LINE_H
#define PPOPT_TRAIN_LIVE_LINE_H

#include <string_view>

namespace ppopt::train {

/// Columns of the terminal that standard output goes to; 0 where it goes to
/// none. Open MPI gives each rank a terminal of its own, whatever mpirun writes
/// to: then it is mpirun's output that counts.
int terminalColumns();

/// The last line of standard output, as long as nothing else is written.
class LiveLine {
public:
  explicit LiveLine(int columns) : columns_(columns) {}
  ~LiveLine();
  LiveLine(const LiveLine &) = delete;
  LiveLine &operator=(const LiveLine &) = delete;

  /// False where there is no terminal: then nothing is to be shown.
  bool exists() const { return columns_ > 0; }
  int columns() const { return columns_; }

  /// Shows the text in place of what was shown, cut where the line ends.
  void show(std::string_view text);

  /// Takes it away, for another line.
  void clear();

private:
  const int columns_;
  bool isShown_ = false;
};

} // namespace ppopt::train

#endif // PPOPT_TRAIN_LIVE_LINE_H
