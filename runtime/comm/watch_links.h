//===- watch_links.h - Connections between the processes of a job ---------===//
//
// A star of TCP connections around rank 0, for the watch. When a process ends,
// for any reason, the system closes its end, and the other end sees it at once.
// The loss of a machine is detected after about 15 s.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_WATCH_LINKS_H
#define PPOPT_COMM_WATCH_LINKS_H

#include "comm/transport.h"

#include <array>
#include <optional>
#include <vector>

namespace ppopt::comm {

/// A message between processes; all notes have the same size.
struct WatchNote {
  enum Kind : int32_t {
    Hello,   ///< the first note, with the job's token
    Failed,  ///< to rank 0: `text` is the reason
    End,     ///< from rank 0: end at once, everything is reported
    Stuck,   ///< to rank 0: this rank has waited too long
    Ask,     ///< from rank 0: asks what the rank is doing
    Words,   ///< to rank 0: the answer
    Goodbye, ///< to rank 0: this rank is done; from rank 0: all are
  };
  Kind kind = Hello;
  int32_t rank = 0;     ///< the rank that the note is about
  int32_t waits = 0;    ///< Words: whether the rank waits
  int32_t waitsFor = 0; ///< Words
  double timeout = 0;   ///< Stuck
  char text[4000] = {}; ///< truncated to fit
  void write(const std::string &words);
};

/// One end of a connection.
class WatchLink {
public:
  /// Takes ownership of the socket and makes it non-blocking.
  WatchLink(int socket, int peer);
  ~WatchLink();
  WatchLink(WatchLink &&other) noexcept : WatchLink() {
    *this = std::move(other);
  }
  WatchLink &operator=(WatchLink &&other) noexcept;

  int socket() const { return descriptor; }
  int peer() const { return peerRank; }
  void setPeer(int rank) { peerRank = rank; }
  bool isOpen() const { return descriptor >= 0; }

  /// Returns false if the other end is closed or accepts no more data.
  bool send(const WatchNote &note);
  /// Returns the next note that has arrived completely. Closes the link if the
  /// other end did.
  std::optional<WatchNote> receive();

private:
  WatchLink() = default;
  void close();

  int descriptor = -1;
  int peerRank = -1;
  WatchNote incoming;
  size_t received = 0; ///< bytes of `incoming`
};

/// Connects all ranks of the job with rank 0. Called by all ranks. Rank 0 sends
/// its address and a random token, which authenticates the connections, over
/// `transport`. Returns a link per other rank on rank 0, elsewhere one link to
/// rank 0. Throws std::runtime_error if a rank cannot be reached.
std::vector<WatchLink> connectWatch(Transport &transport);

} // namespace ppopt::comm

#endif // PPOPT_COMM_WATCH_LINKS_H
