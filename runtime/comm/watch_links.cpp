//===- watch_links.cpp - Connections between the processes of a job -------===//

#include "comm/watch_links.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ppopt::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// No channel is in use before the first step.
constexpr int kChannel = 0;
constexpr int kAddresses = 16;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPatienceOfAnAddress = std::chrono::seconds(5);

/// Processes with the same name reach each other at 127.0.0.1: they share a
/// machine, since its boot, and a network namespace.
using MachineName = std::array<char, 128>;

/// Where rank 0 listens.
struct Invitation {
  MachineName machine{};
  std::array<char, 16> token{};
  uint16_t port = 0;
  int32_t addressCount = 0;
  std::array<uint32_t, kAddresses> addresses{}; ///< as in sockaddr_in
};

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error("the ranks' watch over each other: " + what);
}

[[noreturn]] void failSystem(const std::string &what) {
  fail(what + ": " + std::strerror(errno));
}

MachineName machineName() {
  std::string boot, name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char space[64] = "";
  if (::readlink("/proc/self/ns/net", space, sizeof space - 1) < 0)
    failSystem("cannot read /proc/self/ns/net");
  name = boot + " " + space;
  MachineName result{};
  std::copy_n(name.begin(), std::min(name.size(), result.size() - 1),
              result.begin());
  return result;
}

void configure(int socket) {
  auto set = [&](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // The loss of a machine closes no connection.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

int openSocket() {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    failSystem("cannot open a socket");
  return socket;
}

/// Listens and writes the addresses to `invitation`.
int listenFor(int ranks, bool oneMachine, Invitation &invitation) {
  int socket = openSocket();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(oneMachine ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof address;
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  if (::bind(socket, generic, size) != 0 || ::listen(socket, ranks) != 0 ||
      ::getsockname(socket, generic, &size) != 0)
    failSystem("rank 0 cannot listen");
  invitation.port = address.sin_port;
  if (::getrandom(invitation.token.data(), invitation.token.size(), 0) !=
      ssize_t(invitation.token.size()))
    failSystem("no random numbers");
  ifaddrs *interfaces = nullptr;
  if (oneMachine || ::getifaddrs(&interfaces) != 0)
    return socket;
  for (ifaddrs *each = interfaces; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET ||
        invitation.addressCount == kAddresses)
      continue;
    uint32_t number =
        reinterpret_cast<sockaddr_in *>(each->ifa_addr)->sin_addr.s_addr;
    if (number != htonl(INADDR_LOOPBACK))
      invitation.addresses[invitation.addressCount++] = number;
  }
  ::freeifaddrs(interfaces);
  return socket;
}

int millisecondsUntil(Clock::time_point end) {
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return int(std::max<int64_t>(left.count(), 0));
}

/// Accepts connections whose first note has the job's token; closes others.
std::vector<WatchLink> acceptAll(int listening, int ranks,
                                 const Invitation &invitation) {
  std::vector<WatchLink> strangers, links;
  std::vector<bool> known(ranks, false);
  known[0] = true;
  Clock::time_point end = Clock::now() + kPatience;
  while (int(links.size()) < ranks - 1) {
    std::vector<pollfd> polled{{listening, POLLIN, 0}};
    for (const WatchLink &link : strangers)
      polled.push_back({link.socket(), POLLIN, 0});
    int left = millisecondsUntil(end);
    if (left == 0) {
      auto missing = std::find(known.begin(), known.end(), false);
      fail(fmt::format("rank {} has not connected to rank 0 within {} s; the "
                       "machines must reach each other over TCP",
                       missing - known.begin(), kPatience.count()));
    }
    ::poll(polled.data(), polled.size(), left);
    for (size_t i = 0; i < strangers.size();) {
      std::optional<WatchNote> note = strangers[i].receive();
      bool valid = note && note->kind == WatchNote::Hello &&
                   std::equal(invitation.token.begin(), invitation.token.end(),
                              note->text) &&
                   note->rank > 0 && note->rank < ranks && !known[note->rank];
      if (!note && strangers[i].isOpen()) {
        ++i;
        continue;
      }
      if (valid) {
        known[note->rank] = true;
        strangers[i].setPeer(note->rank);
        links.push_back(std::move(strangers[i]));
      }
      strangers.erase(strangers.begin() + ptrdiff_t(i));
    }
    if (polled[0].revents & POLLIN)
      if (int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
          socket >= 0)
        strangers.emplace_back(socket, /*peer=*/-1);
  }
  return links;
}

/// Returns -1 if nobody answers there.
int connectTo(uint32_t number, uint16_t port) {
  int socket = openSocket();
  configure(socket);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = number;
  address.sin_port = port;
  int result =
      ::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address);
  if (result != 0 && errno == EINPROGRESS) {
    pollfd polled{socket, POLLOUT, 0};
    int error = ETIMEDOUT;
    socklen_t size = sizeof error;
    if (::poll(&polled, 1,
               millisecondsUntil(Clock::now() + kPatienceOfAnAddress)) == 1)
      ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    result = error == 0 ? 0 : -1;
    errno = error;
  }
  if (result == 0)
    return socket;
  int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

int connectToFirst(const Invitation &invitation) {
  std::vector<uint32_t> addresses(invitation.addresses.begin(),
                                  invitation.addresses.begin() +
                                      invitation.addressCount);
  if (invitation.machine == machineName())
    addresses = {htonl(INADDR_LOOPBACK)};
  for (uint32_t address : addresses)
    if (int socket = connectTo(address, invitation.port); socket >= 0)
      return socket;
  failSystem("cannot reach rank 0 over TCP");
}

void sendTo(Transport &transport, const void *data, size_t bytes, int peer) {
  Request request = transport.isend(data, bytes, peer, kChannel);
  transport.wait(request);
}

void receiveFrom(Transport &transport, void *data, size_t bytes, int peer) {
  Request request = transport.irecv(data, bytes, peer, kChannel);
  transport.wait(request);
}

} // namespace

void WatchNote::write(const std::string &words) {
  size_t length = std::min(words.size(), sizeof text - 1);
  std::memcpy(text, words.data(), length);
  text[length] = '\0';
}

WatchLink::WatchLink(int socket, int peer)
    : descriptor(socket), peerRank(peer) {
  configure(socket);
}

WatchLink::~WatchLink() { close(); }

WatchLink &WatchLink::operator=(WatchLink &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(peerRank, other.peerRank);
  std::swap(incoming, other.incoming);
  std::swap(received, other.received);
  return *this;
}

void WatchLink::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

/// A note is many times smaller than the system's buffer of a connection.
bool WatchLink::send(const WatchNote &note) {
  return isOpen() && ::send(descriptor, &note, sizeof note,
                            MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof note;
}

std::optional<WatchNote> WatchLink::receive() {
  while (isOpen()) {
    ssize_t bytes =
        ::recv(descriptor, reinterpret_cast<char *>(&incoming) + received,
               sizeof incoming - received, MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return std::nullopt;
    if (bytes <= 0) {
      close();
      return std::nullopt;
    }
    received += size_t(bytes);
    if (received < sizeof incoming)
      continue;
    received = 0;
    incoming.text[sizeof incoming.text - 1] = '\0';
    return incoming;
  }
  return std::nullopt;
}

std::vector<WatchLink> connectWatch(Transport &transport) {
  int ranks = transport.size();
  MachineName mine = machineName();
  Invitation invitation;
  std::vector<WatchLink> links;
  if (transport.rank() != 0) {
    sendTo(transport, &mine, sizeof mine, 0);
    receiveFrom(transport, &invitation, sizeof invitation, 0);
    links.emplace_back(connectToFirst(invitation), 0);
    WatchNote hello;
    hello.rank = transport.rank();
    std::copy(invitation.token.begin(), invitation.token.end(), hello.text);
    if (!links[0].send(hello))
      failSystem("cannot send to rank 0");
    return links;
  }
  bool oneMachine = true;
  for (int peer = 1; peer < ranks; ++peer) {
    MachineName theirs;
    receiveFrom(transport, &theirs, sizeof theirs, peer);
    oneMachine &= theirs == mine;
  }
  invitation.machine = mine;
  int listening = listenFor(ranks, oneMachine, invitation);
  for (int peer = 1; peer < ranks; ++peer)
    sendTo(transport, &invitation, sizeof invitation, peer);
  links = acceptAll(listening, ranks, invitation);
  ::close(listening);
  return links;
}

} // namespace ppopt::comm
