//===- nccl_links.h - Connections between processes -----------------------===//
//
// Processes of one machine exchange messages through sockets. Nobody waits to
// send; a thread of this library moves the bytes. A process that ends closes
// its sockets, whatever ended it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_NCCL_LINKS_H
#define PPOPT_TEST_DEVICE_FAKE_NCCL_LINKS_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace ppopt::cuda::fake {

class Links {
public:
  /// Called by the thread of the links. `name`: that of listen() or connect().
  struct Handler {
    std::function<void(const std::string &name, int link)> connected;
    std::function<void(int link, const std::string &message)> received;
    std::function<void(int link)> closed;
  };
  explicit Links(Handler handler);

  /// Lets other processes connect to a name. Returns false if they can't.
  bool listen(const std::string &name);
  void stopListening(const std::string &name);
  /// Connects to a name of another process; returns -1 if nobody listens.
  int connect(const std::string &name);
  /// A link that is closed drops it.
  void send(int link, const std::string &message);
  /// Waits until all messages are on their way; returns false if it is late.
  bool flush(std::chrono::steady_clock::time_point deadline);

private:
  struct Link {
    int socket = -1;
    std::string in, out;
  };
  void start();
  void wake();
  void loop();
  /// Of a link that can be read. Returns whether it is open.
  bool receive(int number, int socket);
  void transmit(Link &link);

  Handler handler;
  std::mutex lock; ///< taken after that of the machine
  std::condition_variable sent;
  std::map<std::string, int> listeners; ///< sockets by name
  std::map<int, Link> links;
  int last = 0;
  int wakeUp = -1; ///< an event of the thread; -1: it has not started
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_NCCL_LINKS_H
