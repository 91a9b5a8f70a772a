//===- phase_board.cpp - What each rank is doing, for other processes -----===//

#include "core/phase_board.h"

#include "core/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ppopt::runtime {

static_assert(PhaseBoard::Value::is_always_lock_free);

namespace {

Phase phaseOf(const std::string &taskKind) {
  if (taskKind == "prologue" || taskKind == "forward")
    return Phase::forward;
  return taskKind.rfind("backward", 0) == 0 ? Phase::backward : Phase::update;
}

} // namespace

PhaseBoard::PhaseBoard(const std::string &path, int64_t ranks, int64_t rank)
    : ranks(ranks), rank(rank) {
  auto fail = [&](const char *what) {
    throw Error("--publish-phases {}: {}: {}", path, what,
                std::strerror(errno));
  };
  size_t bytes = ranks * sizeof(Row);
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    fail("cannot open");
  bool isSized = ::ftruncate(file, off_t(bytes)) == 0;
  void *memory = isSized ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, file, 0)
                         : MAP_FAILED;
  int error = errno;
  ::close(file);
  errno = error;
  if (memory == MAP_FAILED)
    fail("cannot map into memory");
  rows = static_cast<Row *>(memory); // zeros are Phase::start
  row().process.store(::getpid(), std::memory_order_relaxed);
}

PhaseBoard::~PhaseBoard() { ::munmap(rows, ranks * sizeof(Row)); }

void PhaseBoard::enter(const Program &program, const Action &action) {
  switch (action.kind) {
  case Action::run:
    return enter(phaseOf(program.tasks[action.task].kind));
  case Action::wait:
    return enter(action.op == Action::allReduce ? Phase::allReduce
                                                : Phase::transfer);
  case Action::sum:
    return enter(Phase::allReduce);
  case Action::copy:
    return enter(Phase::transfer);
  case Action::zero:
  case Action::start:
  case Action::checkCounts:
  case Action::norm:
    return;
  }
}

} // namespace ppopt::runtime
