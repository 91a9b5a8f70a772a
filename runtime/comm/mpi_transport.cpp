//===- mpi_transport.cpp - Ranks that are MPI processes -------------------===//
//
// The module libppopt_mpi.so: the only code that uses MPI, and only what the
// standard specifies. A channel is a tag of one communicator of ours. Each
// group of native collectives has its own communicator.
//
//===----------------------------------------------------------------------===//

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "comm/add_elements.h"
#include "comm/mpi_abi.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace ppopt::comm {
namespace {

/// MPI counts are ints. A message larger than `plainBytes` is sent in two
/// parts: its whole blocks, and the remaining bytes.
constexpr size_t blockBytes = size_t(1) << 20;
constexpr size_t plainBytes = size_t(1) << 26;
constexpr int partsPerTransfer = 2;

/// Polls less often the longer it waits. MPI's own blocking calls never sleep.
/// If ranks or other programs outnumber cores, a rank that polls for long has
/// used up its time slice when the message arrives.
class Backoff {
public:
  void pause() {
    using namespace std::chrono;
    if (++polls < 64)
      return;
    if (polls == 64)
      begin = steady_clock::now();
    if (steady_clock::now() - begin < microseconds(100))
      sched_yield();
    else
      std::this_thread::sleep_for(microseconds(20));
  }

private:
  int polls = 0;
  std::chrono::steady_clock::time_point begin;
};

void addBf16(void *in, void *inout, int *count, MPI_Datatype *) {
  addElements(inout, in, *count, ElementType::BF16);
}

class MpiTransport final : public Transport, private NativeCollectives {
public:
  MpiTransport(int rank, int size, Activity &activity, bool synchronousSends)
      : Transport(rank, size, activity), synchronousSends(synchronousSends) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &messages), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(messages, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
    check(MPI_Type_contiguous(blockBytes, MPI_BYTE, &block),
          "MPI_Type_contiguous");
    check(MPI_Type_commit(&block), "MPI_Type_commit");
    check(MPI_Type_contiguous(2, MPI_BYTE, &bf16), "MPI_Type_contiguous");
    check(MPI_Type_commit(&bf16), "MPI_Type_commit");
    check(MPI_Op_create(addBf16, /*commute=*/1, &bf16Sum), "MPI_Op_create");
    void *bound = nullptr;
    int known = 0;
    check(MPI_Comm_get_attr(messages, MPI_TAG_UB, &bound, &known),
          "MPI_Comm_get_attr");
    tagBound = known ? *static_cast<int *>(bound) : 32767;
    reserve(initialRequests);
  }

  ~MpiTransport() override {
    for (MPI_Comm &group : groups)
      MPI_Comm_free(&group);
    MPI_Op_free(&bf16Sum);
    MPI_Type_free(&bf16);
    MPI_Type_free(&block);
    MPI_Comm_free(&messages);
  }

  const char *kind() const override { return "mpi"; }
  int maxChannel() const override { return tagBound; }

  void throwIfFailed() override {}

  bool test(Request &request) override {
    if (!request.pending())
      return true;
    for (int i = 0; i < partsPerTransfer; ++i) {
      int part = request.index * partsPerTransfer + i;
      if (inFlight[part] == MPI_REQUEST_NULL)
        continue;
      int complete = 0;
      MPI_Status status;
      int code = MPI_Test(&inFlight[part], &complete, &status);
      if (code != MPI_SUCCESS)
        failed(part, code);
      if (complete)
        finish(part, status);
    }
    if (unfinished[request.index] > 0)
      return false;
    freeTransfers.push_back(request.index);
    request.index = -1;
    return true;
  }

  uint64_t completions() override {
    // MPI inspects every request that it is given: skip the idle end of the
    // pool.
    while (used > 0 && unfinished[used - 1] == 0)
      --used;
    int finished = 0;
    int code = MPI_Testsome(used * partsPerTransfer, inFlight.data(), &finished,
                            indices.data(), statuses.data());
    if (finished == MPI_UNDEFINED)
      return completed;
    for (int i = 0; i < finished; ++i) {
      if (code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_SUCCESS)
        failed(indices[i], statuses[i].MPI_ERROR);
      finish(indices[i], statuses[i]);
    }
    if (code != MPI_ERR_IN_STATUS)
      check(code, "MPI_Testsome");
    return completed;
  }

  void awaitCompletion(uint64_t seen) override {
    Backoff backoff;
    while (completions() == seen)
      backoff.pause();
  }

  /// MPI cannot cancel a send that has begun; the process is about to end
  /// anyway.
  void cancel(Request &request) noexcept override {
    if (!request.pending())
      return;
    for (int i = 0; i < partsPerTransfer; ++i) {
      int part = request.index * partsPerTransfer + i;
      if (inFlight[part] != MPI_REQUEST_NULL && expected[part].received)
        MPI_Cancel(&inFlight[part]);
    }
    request.index = -1;
  }

  void barrier() override {
    MPI_Request request;
    check(MPI_Ibarrier(messages, &request), "MPI_Ibarrier");
    Backoff backoff;
    Activity::Wait wait(activity());
    while (true) {
      int complete = 0;
      check(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "MPI_Ibarrier");
      if (complete)
        return;
      wait.on(Activity::WaitsIn::Barrier, -1, Activity::anyRank);
      backoff.pause();
    }
  }

  [[noreturn]] void abort(const std::string &reason) override {
    throw RankFailure(rank(), reason);
  }

  void reserve(int requests) override {
    int before = static_cast<int>(unfinished.size());
    int after = before + requests;
    size_t parts = static_cast<size_t>(after) * partsPerTransfer;
    unfinished.resize(after, 0);
    inFlight.resize(parts, MPI_REQUEST_NULL);
    expected.resize(parts);
    indices.resize(parts);
    statuses.resize(parts);
    freeTransfers.reserve(after);
    for (int index = after - 1; index >= before; --index)
      freeTransfers.push_back(index);
  }

  NativeCollectives *nativeCollectives() override { return this; }

  int openGroup(const std::vector<int> &ranks, int channel) override {
    MPI_Group all;
    MPI_Group some;
    MPI_Comm communicator;
    check(MPI_Comm_group(messages, &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(),
                         &some),
          "MPI_Group_incl");
    check(MPI_Comm_create_group(messages, some, channel, &communicator),
          "MPI_Comm_create_group");
    check(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    groups.push_back(communicator);
    return static_cast<int>(groups.size()) - 1;
  }

  Request iallReduce(void *data, int64_t elements, ElementType type,
                     int group) override {
    if (elements > maxElements())
      throw std::invalid_argument("an MPI collective of " +
                                  std::to_string(elements) + " elements");
    Request request = acquire();
    int part = request.index * partsPerTransfer;
    check(MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(elements),
                         mpiType(type),
                         type == ElementType::BF16 ? bf16Sum : MPI_SUM,
                         groups.at(group), &inFlight[part]),
          "MPI_Iallreduce");
    expected[part].received = false;
    unfinished[request.index] = 1;
    return request;
  }

  int64_t maxElements() const override { return INT_MAX; }

protected:
  Request postSend(const void *data, size_t bytes, int peer,
                   int channel) override {
    auto send = synchronousSends ? MPI_Issend : MPI_Isend;
    return post(bytes, [&](size_t offset, Expected part, MPI_Request *request) {
      part.received = false;
      check(send(static_cast<const char *>(data) + offset, part.count,
                 part.type, peer, channel, messages, request),
            "MPI_Isend");
      return part;
    });
  }

  Request postReceive(void *data, size_t bytes, int peer,
                      int channel) override {
    return post(bytes, [&](size_t offset, Expected part, MPI_Request *request) {
      part.received = true;
      check(MPI_Irecv(static_cast<char *>(data) + offset, part.count, part.type,
                      peer, channel, messages, request),
            "MPI_Irecv");
      return part;
    });
  }

private:
  static constexpr int initialRequests = 64;

  /// What a completed part must match.
  struct Expected {
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    bool received = false;
  };

  Request acquire() {
    if (freeTransfers.empty())
      throw std::length_error("more than " + std::to_string(unfinished.size()) +
                              " transfers in flight: reserve() more");
    Request request{freeTransfers.back()};
    freeTransfers.pop_back();
    used = std::max(used, request.index + 1);
    return request;
  }

  template <typename PostPart> Request post(size_t bytes, PostPart postPart) {
    Request request = acquire();
    int part = request.index * partsPerTransfer;
    size_t blocks = bytes > plainBytes ? bytes / blockBytes : 0;
    if (blocks > INT_MAX)
      throw std::length_error("a message of " + std::to_string(bytes) +
                              " bytes");
    int parts = 0;
    if (blocks > 0) {
      Expected whole{static_cast<int>(blocks), block};
      expected[part] = postPart(0, whole, &inFlight[part]);
      ++parts;
    }
    size_t rest = bytes - blocks * blockBytes;
    if (rest > 0 || parts == 0) {
      Expected tail{static_cast<int>(rest), MPI_BYTE};
      expected[part + parts] =
          postPart(blocks * blockBytes, tail, &inFlight[part + parts]);
      ++parts;
    }
    unfinished[request.index] = parts;
    return request;
  }

  void finish(int part, const MPI_Status &status) {
    const Expected &wanted = expected[part];
    if (wanted.received) {
      int count = 0;
      check(MPI_Get_count(&status, wanted.type, &count), "MPI_Get_count");
      if (count != wanted.count)
        abort(
            "expects " + std::to_string(wanted.count) +
            (wanted.type == block ? " MiB" : " bytes") + " from rank " +
            std::to_string(status.MPI_SOURCE) + " on channel " +
            std::to_string(status.MPI_TAG) + ", which sends " +
            (count == MPI_UNDEFINED ? "another size" : std::to_string(count)));
    }
    if (--unfinished[part / partsPerTransfer] == 0)
      ++completed;
  }

  [[noreturn]] void failed(int part, int code) {
    std::string what = describe(code);
    if (expected[part].received)
      abort("a receive of " + std::to_string(expected[part].count) +
            (expected[part].type == block ? " MiB" : " bytes") +
            " failed: " + what);
    abort("a send or collective failed: " + what);
  }

  void check(int code, const char *call) {
    if (code != MPI_SUCCESS)
      abort(std::string(call) + " failed: " + describe(code));
  }

  static std::string describe(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return std::string(text, static_cast<size_t>(length));
  }

  MPI_Datatype mpiType(ElementType type) const {
    switch (type) {
    case ElementType::F32:
      return MPI_FLOAT;
    case ElementType::F64:
      return MPI_DOUBLE;
    case ElementType::BF16:
      return bf16;
    case ElementType::I32:
      return MPI_INT32_T;
    case ElementType::I64:
      return MPI_INT64_T;
    }
    return MPI_DATATYPE_NULL;
  }

  const bool synchronousSends;
  MPI_Comm messages = MPI_COMM_NULL;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Datatype bf16 = MPI_DATATYPE_NULL;
  MPI_Op bf16Sum = MPI_OP_NULL;
  std::vector<MPI_Comm> groups;
  int tagBound = 0;

  // The pool. A transfer is an index; its parts are adjacent.
  std::vector<int> freeTransfers;
  std::vector<int> unfinished;       ///< by transfer: parts in flight
  int used = 0;                      ///< transfers from this index on are idle
  std::vector<MPI_Request> inFlight; ///< by part
  std::vector<Expected> expected;    ///< by part
  std::vector<int> indices;          ///< output of MPI_Testsome
  std::vector<MPI_Status> statuses;  ///< output of MPI_Testsome
  uint64_t completed = 0;
};

} // namespace
} // namespace ppopt::comm

using ppopt::comm::MpiTransport;

extern "C" int ppopt_mpi_abi() { return PPOPT_MPI_MODULE_ABI; }

extern "C" ppopt::comm::Transport *
ppopt_mpi_open(bool synchronousSends, ppopt::comm::Activity *activity,
               char *error, size_t errorBytes) {
  // The rank's other threads never call MPI.
  int provided = MPI_THREAD_SINGLE;
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS || provided < MPI_THREAD_FUNNELED) {
    std::snprintf(
        error, errorBytes,
        code != MPI_SUCCESS
            ? "MPI_Init_thread failed"
            : "this MPI does not support other threads in its processes");
    return nullptr;
  }
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return new MpiTransport(rank, size, *activity, synchronousSends);
}

extern "C" void ppopt_mpi_close(ppopt::comm::Transport *transport) {
  delete transport;
  MPI_Finalize();
}
