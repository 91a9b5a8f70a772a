//===- allocations.h - Allocations of this thread -------------------------===//

#ifndef PPOPT_TEST_RUNTIME_EXECUTOR_ALLOCATIONS_H
#define PPOPT_TEST_RUNTIME_EXECUTOR_ALLOCATIONS_H

#include <cstdint>

/// Calls of operator new in this thread (core_executor_test.cpp replaces it).
extern thread_local int64_t allocations;

#endif // PPOPT_TEST_RUNTIME_EXECUTOR_ALLOCATIONS_H
