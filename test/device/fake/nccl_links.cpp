//===- nccl_links.cpp - Connections between processes ---------------------===//

#include "fake/nccl_links.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ppopt::cuda::fake {
namespace {

/// A name that is no file, and goes with the socket.
socklen_t setAddress(sockaddr_un &address, const std::string &name) {
  address = {};
  address.sun_family = AF_UNIX;
  size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + size);
}

int makeSocket(int flags) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

} // namespace

Links::Links(Handler handler) : handler(std::move(handler)) {}

bool Links::listen(const std::string &name) {
  int made = makeSocket(SOCK_NONBLOCK);
  sockaddr_un address;
  socklen_t size = setAddress(address, name);
  if (made < 0 ||
      bind(made, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
      ::listen(made, SOMAXCONN) != 0) {
    close(made);
    return false;
  }
  std::lock_guard<std::mutex> own(lock);
  listeners[name] = made;
  wake();
  return true;
}

void Links::stopListening(const std::string &name) {
  std::lock_guard<std::mutex> own(lock);
  auto found = listeners.find(name);
  if (found == listeners.end())
    return;
  close(found->second);
  listeners.erase(found);
  wake();
}

int Links::connect(const std::string &name) {
  int made = makeSocket(0);
  sockaddr_un address;
  socklen_t size = setAddress(address, name);
  if (made < 0 ||
      ::connect(made, reinterpret_cast<sockaddr *>(&address), size) != 0) {
    close(made);
    return -1;
  }
  std::lock_guard<std::mutex> own(lock);
  links[++last].socket = made;
  wake();
  return last;
}

void Links::send(int link, const std::string &message) {
  std::lock_guard<std::mutex> own(lock);
  auto found = links.find(link);
  if (found == links.end())
    return;
  uint64_t size = message.size();
  found->second.out.append(reinterpret_cast<const char *>(&size), sizeof size);
  found->second.out += message;
  wake();
}

bool Links::flush(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> own(lock);
  return sent.wait_until(own, deadline, [&] {
    return std::all_of(links.begin(), links.end(), [](const auto &each) {
      return each.second.out.empty();
    });
  });
}

/// Tells the thread that something changed, and starts it before. Signals of
/// the process are for other threads.
void Links::wake() {
  if (wakeUp < 0) {
    wakeUp = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    std::thread([this] { loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  eventfd_write(wakeUp, 1);
}

void Links::loop() {
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<std::string> names;
    std::vector<int> numbers;
    {
      std::lock_guard<std::mutex> own(lock);
      polled.push_back({wakeUp, POLLIN, 0});
      for (const auto &[name, socket] : listeners) {
        polled.push_back({socket, POLLIN, 0});
        names.push_back(name);
      }
      for (auto &[number, link] : links) {
        transmit(link);
        short events = link.out.empty() ? POLLIN : POLLIN | POLLOUT;
        polled.push_back({link.socket, events, 0});
        numbers.push_back(number);
      }
    }
    sent.notify_all();
    if (poll(polled.data(), polled.size(), -1) < 0)
      continue;
    eventfd_t changes;
    eventfd_read(wakeUp, &changes);
    for (size_t i = 0; i < names.size(); ++i) {
      if (!polled[1 + i].revents)
        continue;
      int number;
      {
        std::lock_guard<std::mutex> own(lock);
        auto found = listeners.find(names[i]);
        if (found == listeners.end())
          continue;
        int made = accept4(found->second, nullptr, nullptr, SOCK_CLOEXEC);
        if (made < 0)
          continue;
        links[number = ++last].socket = made;
      }
      handler.connected(names[i], number);
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      const pollfd &socket = polled[1 + names.size() + i];
      if ((socket.revents & ~POLLOUT) == 0 || receive(numbers[i], socket.fd))
        continue;
      {
        std::lock_guard<std::mutex> own(lock);
        close(socket.fd);
        links.erase(numbers[i]);
      }
      handler.closed(numbers[i]);
    }
  }
}

void Links::transmit(Link &link) {
  size_t done = 0;
  while (done < link.out.size()) {
    ssize_t count = ::send(link.socket, link.out.data() + done,
                           link.out.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      link.out.clear(); // Nobody reads it any more.
      return;
    }
    if (count < 0)
      break;
    done += size_t(count);
  }
  link.out.erase(0, done);
}

bool Links::receive(int number, int socket) {
  std::vector<char> buffer(1 << 16);
  ssize_t count = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (count == 0)
    return false;
  std::string in;
  {
    std::lock_guard<std::mutex> own(lock);
    in = std::move(links[number].in);
  }
  in.append(buffer.data(), size_t(count));
  size_t at = 0;
  for (uint64_t size; in.size() - at >= sizeof size;) {
    std::memcpy(&size, in.data() + at, sizeof size);
    if (in.size() - at - sizeof size < size)
      break;
    handler.received(number, in.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  in.erase(0, at);
  std::lock_guard<std::mutex> own(lock);
  links[number].in = std::move(in);
  return true;
}

} // namespace ppopt::cuda::fake
