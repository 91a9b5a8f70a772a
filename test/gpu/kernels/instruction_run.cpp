//===- instruction_run.cpp - Measures an approximate instruction ----------===//

#include "instruction_run.h"

#include "parallel.h"

#include <cmath>
#include <fmt/format.h>
#include <mutex>

namespace ppopt::gpu {
namespace {

/// Operands, and results, are whole blocks of threads.
int64_t roundUp(int64_t count) {
  return (count + threadsOfInstruction - 1) / threadsOfInstruction *
         threadsOfInstruction;
}

const char *describe(ErrorUnit unit) {
  switch (unit) {
  case ErrorUnit::result:
    return "of the result";
  case ErrorUnit::ulp:
    return "ulp";
  case ErrorUnit::resultOrOne:
    return "of the result, or of 1 near it";
  }
  return "";
}

float floatAt(const Bytes &from, int64_t i) {
  return reinterpret_cast<const float *>(from.data())[i];
}

} // namespace

int64_t bytesOfInstruction(const Instruction &instruction, int64_t count) {
  return (instruction.operands + 1) * roundUp(count) * int64_t(sizeof(float));
}

InstructionFindings runInstruction(Workbench &bench,
                                   const Instruction &instruction,
                                   int64_t count) {
  count = roundUp(count);
  int64_t bytes = count * int64_t(sizeof(float));
  std::vector<Bytes> operands;
  std::vector<void *> arguments;
  for (int which = 0; which < instruction.operands; ++which) {
    Bytes &operand = operands.emplace_back(size_t(bytes));
    auto *numbers = reinterpret_cast<float *>(operand.data());
    forParts(count, 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        numbers[i] = operandOf(instruction, i, which, count);
    });
    bench.write(which * bytes, operand);
    arguments.push_back(bench.at(which * bytes).opaque());
  }
  int64_t at = instruction.operands * bytes;
  bench.fill(at, bytes, 0xa5);
  arguments.push_back(bench.at(at).opaque());
  device::KernelSpec spec;
  spec.name = kernelOf(instruction);
  spec.threads = threadsOfInstruction;
  spec.ins.assign(arguments.size(), bytes);
  int number = bench.defineKernel(spec);
  bench.device->launch(bench.stream, number, nullptr, arguments.data(),
                       count / threadsOfInstruction);
  Bytes got = bench.read(at, bytes);

  InstructionFindings findings;
  int64_t wrong = 0;
  std::mutex lock;
  forParts(count, 1 << 14, [&](int64_t begin, int64_t end) {
    InstructionFindings part;
    int64_t wrongOfPart = 0;
    for (int64_t i = begin; i < end; ++i) {
      float x = floatAt(operands.front(), i), y = floatAt(operands.back(), i),
            result = floatAt(got, i);
      InstructionError error = measureError(instruction, x, y, result);
      wrongOfPart += error.isWrong;
      // What has no size is worse than any error.
      double size = error.isWrong ? INFINITY : error.error;
      if (size > part.error)
        part.error = size, part.x = x, part.y = y, part.result = result;
    }
    std::lock_guard<std::mutex> held(lock);
    wrong += wrongOfPart;
    if (part.error > findings.error)
      findings = part;
  });
  findings.compared = count;
  if (findings.error > instruction.bound)
    findings.wrong = fmt::format(
        "{}({:a}{}) is {:a}, not {:a}: off by {:.3g} {}, of at most {:.3g}{}",
        instruction.name, findings.x,
        instruction.operands == 2 ? fmt::format(", {:a}", findings.y) : "",
        findings.result, instruction.compute(findings.x, findings.y),
        findings.error, describe(instruction.unit), instruction.bound,
        wrong ? fmt::format(" ({} results are of another kind)", wrong) : "");
  return findings;
}

} // namespace ppopt::gpu
