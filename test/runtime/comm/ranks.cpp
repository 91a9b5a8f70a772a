//===- ranks.cpp - A job of ranks, by mpirun or as threads ----------------===//
//
// comm_ranks MODE [RANKS]. Under mpirun its processes are the ranks; otherwise
// RANKS threads are. What it prints depends on MODE and the number of ranks,
// not on the transport:
//
//   sums       one line per collective: type, size, bits, bytes sent by each
//   channels   sums along the axes of a mesh of 2 × RANKS/2, several in flight
//   transfers  a chain of places that pass messages of several sizes on
//   native     as `channels`, exact sums, by the library's collectives
//   large      a message beyond 64 MiB, which MPI gets as two
//   abort      the last rank fails while the others wait
//   sizes      rank 0 sends more than rank 1 expects
//   eager      whether a small send completes before its receive is posted
//
//===----------------------------------------------------------------------===//

#include "comm/channels.h"
#include "comm/mpi_module.h"
#include "comm/thread_transport.h"

#include "inputs.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

using namespace ppopt::comm;
using namespace ppopt::geometry;
using namespace ppopt::comm::test;

static uint64_t hashOf(const std::vector<char> &data) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char byte : data)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

/// Prints rank 0's `text` after asking that all ranks have the same `value`.
static void report(Transport &transport, const std::string &text,
                   uint64_t value) {
  if (transport.rank() > 0) {
    Request request = transport.isend(&value, sizeof value, 0, 99);
    transport.wait(request);
    return;
  }
  for (int peer = 1; peer < transport.size(); ++peer) {
    uint64_t theirs = 0;
    Request request = transport.irecv(&theirs, sizeof theirs, peer, 99);
    transport.wait(request);
    if (theirs != value)
      transport.abort(text + ": rank " + std::to_string(peer) +
                      " has other bits");
  }
  std::printf("%s %016" PRIx64 "\n", text.c_str(), value);
}

static void sums(Transport &transport) {
  int n = transport.size();
  Members group;
  for (int rank = 0; rank < n; ++rank)
    group.ranks.push_back(rank);
  group.position = transport.rank();
  for (ElementType type : allTypes)
    for (int64_t elements : {0, 1, 2, 5, 64, 1001, 300007}) {
      auto data = makeBuffer(transport.rank(), elements, type, roughValue);
      std::vector<char> scratch(static_cast<size_t>(scratchElements(
                                    Collective::AllReduce, elements, n)) *
                                sizeOf(type));
      uint64_t before = transport.counters().bytesSent;
      Ring ring(transport);
      ring.start({Collective::AllReduce, &group, data.data(), elements, type,
                  scratch.data(), 5});
      ring.wait();
      uint64_t sent = transport.counters().bytesSent - before;
      uint64_t formula =
          sizeOf(type) *
          elementsSent(Collective::AllReduce, elements, n, group.position);
      if (sent != formula)
        transport.abort("sent " + std::to_string(sent) + " bytes, not " +
                        std::to_string(formula));
      report(transport,
             std::string(nameOf(type)) + " " + std::to_string(elements),
             hashOf(data));
    }
}

static void channels(Transport &transport, Collectives collectives) {
  struct Buffer {
    std::vector<char> data, scratch;
  };
  int rank = transport.rank();
  int inner = transport.size() / 2;
  Mesh mesh({{"dp", 2}, {"tp", inner}});
  std::vector<Buffer> buffers;
  std::vector<int> members;
  for (int i = 0; i < 10; ++i) {
    ElementType type = allTypes[i % 5];
    int n = i % 2 ? inner : 2;
    int64_t elements = 1000 * i + 7;
    buffers.push_back(
        {makeBuffer(rank + 100 * i, elements, type, exactValue),
         std::vector<char>(static_cast<size_t>(elements) * sizeOf(type))});
    members.push_back(n);
  }
  Channels channels(transport, mesh, collectives);
  for (int i = 0; i < 10; ++i) {
    CollectiveSpec spec;
    spec.name = std::to_string(i);
    spec.group.axes = {i % 2 ? "tp" : "dp"};
    spec.channel = i % 4;
    spec.data = buffers[i].data.data();
    spec.type = allTypes[i % 5];
    spec.elements = 1000 * i + 7;
    spec.scratch = buffers[i].scratch.data();
    spec.scratchBytes = buffers[i].scratch.size();
    channels.define(spec);
  }
  channels.open(0);
  for (int i = 0; i < 10; ++i)
    channels.start(i);
  for (int i = 0; i < 10; ++i)
    channels.wait(rank % 2 ? 9 - i : i);
  for (int i = 0; i < 10; ++i) {
    Members group = mesh.members({{i % 2 ? "tp" : "dp"}, {}}, rank);
    for (int64_t j = 0; j < 1000 * i + 7; ++j) {
      double sum = 0;
      for (int member : group.ranks)
        sum += exactValue(member + 100 * i, j);
      if (get(buffers[i].data, j, allTypes[i % 5]) != sum)
        transport.abort("collective " + std::to_string(i) + ", element " +
                        std::to_string(j) + " is wrong");
    }
  }
  report(transport, "channels", 0);
}

/// Rank r passes what rank r-1 sends on to rank r+1, several messages in
/// flight, from a value of rank 0. Half of the steps are driven by progress()
/// alone.
static void transfers(Transport &transport) {
  constexpr int inFlight = 4;
  int rank = transport.rank(), last = transport.size() - 1;
  for (size_t elements : {size_t(1), size_t(1000), size_t(300000)}) {
    std::vector<std::vector<int>> buffers(inFlight, std::vector<int>(elements));
    Channels channels(transport, Mesh({{"dp", 1}, {"pp", last + 1}}));
    std::vector<int> receives, sends;
    auto define = [&](std::vector<int> &buffer, bool send) {
      TransferSpec spec;
      spec.sends = send;
      spec.peer = send ? rank + 1 : rank - 1;
      spec.data = buffer.data();
      spec.bytes = elements * sizeof(int);
      return channels.define(spec);
    };
    for (std::vector<int> &buffer : buffers) {
      if (rank > 0)
        receives.push_back(define(buffer, false));
      if (rank < last)
        sends.push_back(define(buffer, true));
    }
    channels.open(2 * inFlight);
    auto finish = [&](int operation, int step) {
      while (step % 2 && !channels.done(operation))
        channels.progress();
      channels.wait(operation);
    };
    for (int step = 0; step < 10; ++step) {
      for (int receive : receives)
        channels.start(receive);
      for (int i = 0; i < inFlight; ++i) {
        if (rank == 0)
          buffers[i].assign(elements, 100 * step + i);
        else
          finish(receives[i], step);
        if (rank < last)
          channels.start(sends[i]);
      }
      for (int send : sends)
        finish(send, step);
      for (int i = 0; i < inFlight; ++i)
        if (buffers[i] != std::vector<int>(elements, 100 * step + i))
          transport.abort("message " + std::to_string(i) + " is wrong");
    }
  }
  report(transport, "transfers", 0);
}

static void large(Transport &transport) {
  size_t bytes = (size_t(1) << 26) + 12345;
  std::vector<char> data(transport.rank() < 2 ? bytes : 0);
  if (transport.rank() == 0)
    for (size_t i = 0; i < bytes; i += 4093)
      data[i] = static_cast<char>(mix(i));
  Request request;
  if (transport.rank() == 0)
    request = transport.isend(data.data(), bytes, 1, 0);
  if (transport.rank() == 1)
    request = transport.irecv(data.data(), bytes, 0, 0);
  transport.wait(request);
  if (transport.rank() == 1)
    for (size_t i = 0; i < bytes; i += 4093)
      if (data[i] != static_cast<char>(mix(i)))
        transport.abort("byte " + std::to_string(i) + " is wrong");
  report(transport, "large", 0);
}

static void abortOne(Transport &transport) {
  transport.barrier();
  if (transport.rank() == transport.size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    throw std::runtime_error("the loss is not finite");
  }
  std::vector<float> data(100), scratch(100);
  Channels channels(transport, Mesh({{"dp", transport.size()}}));
  CollectiveSpec spec;
  spec.group.axes = {"dp"};
  spec.data = data.data();
  spec.elements = 100;
  spec.scratch = scratch.data();
  spec.scratchBytes = scratch.size() * sizeof(float);
  int sum = channels.define(spec);
  channels.start(sum);
  channels.wait(sum);
}

static void sizes(Transport &transport) {
  std::vector<char> data(100);
  Request request;
  if (transport.rank() == 0)
    request = transport.isend(data.data(), 100, 1, 4);
  if (transport.rank() == 1)
    request = transport.irecv(data.data(), 60, 0, 4);
  transport.wait(request);
  transport.barrier();
}

static void eager(Transport &transport) {
  using namespace std::chrono;
  int value = 0;
  Request request;
  bool complete = false;
  if (transport.rank() == 0) {
    request = transport.isend(&value, sizeof value, 1, 0);
    auto end = steady_clock::now() + milliseconds(100);
    while (!complete && steady_clock::now() < end)
      complete = transport.test(request);
    std::printf("a small send completes %s its receive\n",
                complete ? "before" : "with");
  }
  transport.barrier();
  if (transport.rank() == 1)
    request = transport.irecv(&value, sizeof value, 0, 0);
  transport.wait(request);
}

int main(int argc, char **argv) {
  const std::map<std::string, std::function<void(Transport &)>> modes = {
      {"sums", sums},
      {"channels", [](Transport &t) { channels(t, Collectives::Ring); }},
      {"transfers", transfers},
      {"native", [](Transport &t) { channels(t, Collectives::Native); }},
      {"large", large},
      {"abort", abortOne},
      {"sizes", sizes},
      {"eager", eager},
  };
  auto mode = modes.find(argc > 1 ? argv[1] : "");
  if (mode == modes.end()) {
    std::fprintf(stderr, "usage: comm_ranks MODE [RANKS]\n");
    return 2;
  }
  try {
    if (auto launcher = detectLauncher(); launcher && launcher->mpi)
      runMpiRank(*launcher, [&](Transport &transport) {
        mode->second(transport);
        return 0;
      });
    else
      runThreadRanks(argc > 2 ? std::atoi(argv[2]) : 1, mode->second);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
