//===- Fiber.cpp - Switches between stacks --------------------------------===//
//
// On x86-64 a switch saves what a callee must save; elsewhere it is ucontext's.
//
//===----------------------------------------------------------------------===//

#include "Fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#define PPOPT_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

using namespace emulated;

/// Kernels keep small arrays on it and, as their code is not optimised, each of
/// their values: up to 80 KiB. The math library works there too.
static constexpr size_t kStackBytes = 512 * 1024;

/// The bytes by which a stack begins below the end of its memory. Were they the
/// same for all, the frames of a warp's threads would share a few sets of the
/// cache and drive each other out of it.
static size_t nextOffset() {
  static size_t count = 0;
  constexpr size_t threads = 32, distance = 128;
  return count++ % threads * distance;
}

#ifdef PPOPT_OWN_SWITCH
/// Saves the registers of the caller on its stack and its stack pointer in
/// `*save`; goes on where the stack pointer `load` was saved.
extern "C" void ppopt_emulated_switch(void **save, void *load);
asm(R"(
.text
.globl ppopt_emulated_switch
.type ppopt_emulated_switch,@function
ppopt_emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ppopt_emulated_switch,.-ppopt_emulated_switch
)");

struct Fiber::Context {
  void *own = nullptr, *resumer = nullptr;
};
#else
struct Fiber::Context {
  ucontext_t own, resumer;
};
#endif

static Fiber *current;

/// Bytes below the stack that fault.
static size_t guardBytes() { return sysconf(_SC_PAGESIZE); }

Fiber::Fiber() : offset(nextOffset()), context(new Context) {
  void *memory =
      mmap(nullptr, guardBytes() + kStackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, guardBytes(), PROT_NONE) != 0) {
    perror("emulated device: no memory for a stack");
    abort();
  }
  stack = static_cast<char *>(memory) + guardBytes();
}

Fiber::~Fiber() {
  munmap(stack - guardBytes(), guardBytes() + kStackBytes);
  delete context;
}

bool Fiber::holds(uint64_t address) const {
  return address - reinterpret_cast<uint64_t>(stack) < kStackBytes;
}

void Fiber::start(void (*entry)()) {
#ifdef PPOPT_OWN_SWITCH
  auto **top = reinterpret_cast<void **>(stack + kStackBytes - offset);
  // A call leaves the stack pointer 8 bytes below a multiple of 16.
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i)
    *--top = nullptr;
  context->own = top;
#else
  getcontext(&context->own);
  context->own.uc_stack.ss_sp = stack;
  context->own.uc_stack.ss_size = kStackBytes - offset;
  context->own.uc_link = nullptr;
  makecontext(&context->own, entry, 0);
#endif
}

void Fiber::resume() {
  current = this;
#ifdef PPOPT_OWN_SWITCH
  ppopt_emulated_switch(&context->resumer, context->own);
#else
  swapcontext(&context->resumer, &context->own);
#endif
}

void Fiber::suspend() {
  Fiber *self = current;
#ifdef PPOPT_OWN_SWITCH
  ppopt_emulated_switch(&self->context->own, self->context->resumer);
#else
  swapcontext(&self->context->own, &self->context->resumer);
#endif
}
