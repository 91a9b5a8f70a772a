//===- event_file.h - An event file of TensorBoard ------------------------===//
//
// Records as TensorFlow's TFRecord frames them, each an Event of its protocol
// buffers (event.proto, summary.proto), of which these few fields are written.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_EVENT_FILE_H
#define PPOPT_RUNTIME_OBSERVE_EVENT_FILE_H

#include "observe/reported.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// Returns whether a path, relative to a folder, is what TensorBoard takes for
/// an event file there.
bool isEventFile(std::string_view path);

class EventFile {
public:
  /// Begins another file in the folder, which is made if there is none; with an
  /// empty name nothing is written. TensorBoard reads the files of a folder one
  /// after the other, this one last. If `resumed` is given it forgets what the
  /// others have of that step (counted from 1) and of later ones. Throws Error.
  EventFile(const std::string &folder, std::optional<int64_t> resumed);
  ~EventFile();
  EventFile(const EventFile &) = delete;
  EventFile &operator=(const EventFile &) = delete;

  /// Adds the numbers that are known, under tags that begin with `group`. The
  /// file is complete then. Allocates nothing, unless there are more numbers
  /// than before. Throws Error.
  void add(std::string_view group, int64_t step,
           const std::vector<Reported> &numbers);

private:
  void begin(int64_t step);
  void write();

  int descriptor_ = -1;
  std::string path_;
  std::string event_, summary_; ///< for the next record
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_EVENT_FILE_H
