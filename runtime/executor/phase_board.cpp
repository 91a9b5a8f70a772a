//===- phase_board.cpp - Publishes a rank's phase to other processes ------===//

#include "executor/phase_board.h"

#include "base/error.h"
#include "files/output_target.h"
#include "files/system_error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ppopt::runtime {

static_assert(PhaseBoard::Value::is_always_lock_free);

namespace {

Phase phaseOf(TaskKind kind) {
  switch (kind) {
  case TaskKind::prologue:
  case TaskKind::open:
  case TaskKind::forward:
  case TaskKind::evaluation:
    return Phase::forward;
  case TaskKind::backward:
  case TaskKind::backwardInput:
  case TaskKind::backwardWeight:
    return Phase::backward;
  case TaskKind::loss:
  case TaskKind::collect:
  case TaskKind::norm:
  case TaskKind::decide:
  case TaskKind::update:
  case TaskKind::average:
  case TaskKind::commit:
    return Phase::update;
  }
  return Phase::update;
}

} // namespace

PhaseBoard::PhaseBoard(const std::string &path, int64_t ranks, int64_t rank)
    : ranks(ranks), rank(rank) {
  auto fail = [&](const std::string &why) {
    throw Error("--publish-phases {}: {}", path, why);
  };
  size_t bytes = ranks * sizeof(Row);
  OpenedOutput file = openOutput(path, O_RDWR | O_CREAT);
  if (file.descriptor < 0)
    fail(file.error);
  // Allocate the file: on a full disk, a store to a page would raise SIGBUS.
  int error = ::ftruncate(file.descriptor, off_t(bytes)) == 0
                  ? ::posix_fallocate(file.descriptor, 0, off_t(bytes))
                  : errno;
  void *memory = MAP_FAILED;
  if (error == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                    file.descriptor, 0);
    error = errno;
  }
  ::close(file.descriptor);
  if (memory == MAP_FAILED)
    fail(fmt::format("cannot map {} bytes of it into memory: {}", bytes,
                     describeError(error)));
  rows = static_cast<Row *>(memory); // all zeros are Phase::start
  row().process.store(::getpid(), std::memory_order_relaxed);
}

PhaseBoard::~PhaseBoard() { ::munmap(rows, ranks * sizeof(Row)); }

void PhaseBoard::enter(const Program &program, const Action &action) {
  Phase communicates =
      isTransfer(action.op) ? Phase::transfer : Phase::allReduce;
  switch (action.kind) {
  case ActionKind::run:
    return enter(phaseOf(program.tasks[action.task].kind));
  case ActionKind::wait:
    return enter(communicates);
  case ActionKind::start:
    // Among the places of a process a start does it all.
    if (program.local)
      enter(communicates);
    return;
  case ActionKind::zero:
    return;
  }
}

} // namespace ppopt::runtime
