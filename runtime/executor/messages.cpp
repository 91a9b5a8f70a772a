//===- messages.cpp - Messages between ranks outside of steps -------------===//

#include "executor/messages.h"

#include "executor/rank.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ppopt::train {

Messages::Messages(comm::Transport &transport, int channel)
    : transport_(transport), channel_(channel) {}

Messages::Messages(const ppopt_rank &rank)
    : Messages(*rank.transport, int(rank.program.unusedChannel())) {}

void Messages::send(const void *data, int64_t bytes, int peer) {
  comm::Request request = transport_.isend(data, bytes, peer, channel_);
  transport_.wait(request);
}

void Messages::receive(void *data, int64_t bytes, int peer) {
  comm::Request request = transport_.irecv(data, bytes, peer, channel_);
  try {
    transport_.wait(request);
  } catch (...) {
    transport_.cancel(request); // the buffer may be on the stack
    throw;
  }
}

std::vector<int> Messages::everyone() const {
  std::vector<int> ranks(size_t(transport_.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void Messages::gather(const void *mine, int64_t bytes, void *all) {
  gather(mine, bytes, all, everyone());
}

void Messages::gather(const void *mine, int64_t bytes, void *all,
                      const std::vector<int> &among) {
  if (transport_.rank() != among.front())
    return send(mine, bytes, among.front());
  std::memcpy(all, mine, size_t(bytes));
  for (size_t i = 1; i < among.size(); ++i)
    receive(static_cast<char *>(all) + int64_t(i) * bytes, bytes, among[i]);
}

std::vector<std::string> Messages::gatherTexts(const std::string &mine) {
  auto bytes = int64_t(mine.size());
  std::vector<int64_t> lengths(transport_.size());
  gather(&bytes, sizeof bytes, lengths.data());
  if (transport_.rank() != 0) {
    if (bytes > 0)
      send(mine.data(), bytes, 0);
    return {};
  }
  std::vector<std::string> all = {mine};
  for (int peer = 1; peer < transport_.size(); ++peer) {
    all.emplace_back(lengths[peer], '\0');
    if (lengths[peer] > 0)
      receive(all.back().data(), lengths[peer], peer);
  }
  return all;
}

void Messages::broadcast(void *data, int64_t bytes) {
  broadcast(data, bytes, everyone());
}

void Messages::broadcast(void *data, int64_t bytes,
                         const std::vector<int> &among) {
  if (transport_.rank() != among.front())
    return receive(data, bytes, among.front());
  for (size_t i = 1; i < among.size(); ++i)
    send(data, bytes, among[i]);
}

/// After round k, a rank knows the maximum of its own value and those of the
/// 2^(k+1)-1 ranks before it.
int32_t Messages::greatest(int32_t mine) {
  int rank = transport_.rank(), size = transport_.size();
  for (int distance = 1; distance < size; distance *= 2) {
    int32_t theirs = 0;
    comm::Request in, out;
    try {
      in = transport_.irecv(&theirs, sizeof theirs,
                            (rank - distance + size) % size, channel_);
      out = transport_.isend(&mine, sizeof mine, (rank + distance) % size,
                             channel_);
      transport_.wait(in);
      transport_.wait(out);
    } catch (...) {
      transport_.cancel(in); // the buffers are on the stack
      transport_.cancel(out);
      throw;
    }
    mine = std::max(mine, theirs);
  }
  return mine;
}

} // namespace ppopt::train
