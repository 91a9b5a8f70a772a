//===- watch_links.h - Connections between the processes of a job ---------===//
//
// A star of TCP connections around rank 0, for the watch. When a process ends,
// however it ends, the system closes its end: the other end sees it at once. A
// machine that is lost shows after some 15 s.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_COMM_WATCH_LINKS_H
#define PPOPT_COMM_WATCH_LINKS_H

#include "comm/transport.h"

#include <array>
#include <optional>
#include <vector>

namespace ppopt::comm {

/// What processes tell each other; all notes have one size.
struct WatchNote {
  enum Kind : int32_t {
    Hello,   ///< first of all, with the job's token
    Failed,  ///< to rank 0: `text` is the reason
    End,     ///< from rank 0: end at once, all has been said
    Stuck,   ///< to rank 0: this rank has waited for too long
    Ask,     ///< from rank 0: what are you doing?
    Words,   ///< to rank 0: the answer
    Goodbye, ///< to rank 0: all done; from rank 0: all ranks are
  };
  Kind kind = Hello;
  int32_t rank = 0;     ///< whose note it is
  int32_t waits = 0;    ///< Words: whether the rank waits
  int32_t waitsFor = 0; ///< Words
  double timeout = 0;   ///< Stuck
  char text[4000] = {}; ///< cut where it does not fit
  void write(const std::string &words);
};

/// One end of a connection.
class WatchLink {
public:
  /// Takes the socket, which never blocks from now on.
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

  /// False where the other end is not there or takes no more.
  bool send(const WatchNote &note);
  /// The next note that has arrived whole. Closes where the other end did.
  std::optional<WatchNote> receive();

private:
  WatchLink() = default;
  void close();

  int descriptor = -1;
  int peerRank = -1;
  WatchNote incoming;
  size_t received = 0; ///< bytes of `incoming`
};

/// Connects all ranks of the job with rank 0, which tells them by `transport`
/// where it listens and a token that strangers do not know. Called by all.
/// Returns a link to each other rank on rank 0, elsewhere one to rank 0. Throws
/// std::runtime_error where a rank cannot be reached.
std::vector<WatchLink> connectWatch(Transport &transport);

} // namespace ppopt::comm

#endif // PPOPT_COMM_WATCH_LINKS_H
