//===- launch_run.cpp - Runs one kernel or matmul on the GPU --------------===//

#include "launch_run.h"

#include "base/error.h"

#include <algorithm>

namespace ppopt::gpu {
namespace {

constexpr int64_t alignment = 256;

int64_t alignUp(int64_t offset) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// Where buffers lie: the offset of each, and where the last guard ends.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t end = alignment;
};

/// Adds what is wrong in one run or both.
void addWrong(LaunchFindings &findings, std::string what) {
  if (std::find(findings.wrong.begin(), findings.wrong.end(), what) ==
      findings.wrong.end())
    findings.wrong.push_back(std::move(what));
}

Placement place(const Launch &launch) {
  Placement placement;
  for (const Buffer &buffer : launch.buffers) {
    placement.offsets.push_back(placement.end + buffer.offset);
    // At least a guard's width after it.
    placement.end =
        alignUp(placement.offsets.back() + buffer.bytes()) + alignment;
  }
  return placement;
}

} // namespace

int64_t LaunchRun::bytesOf(const Launch &launch) {
  return place(launch).end + (launch.matmul ? launch.matmul->workspace : 0);
}

LaunchRun::LaunchRun(Workbench &bench, const Launch &launch, int64_t seed)
    : bench(bench), launch(launch), seed(seed) {
  Placement placement = place(launch);
  offsets = placement.offsets;
  end = workspace = placement.end;
  define();
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    contents.push_back(launch.buffers[i].isRead
                           ? makeContents(launch, int64_t(i), seed)
                           : Bytes());
  for (int64_t argument : launch.arguments)
    arguments.push_back(bench.at(offsets[size_t(argument)]).opaque());
}

void LaunchRun::define() {
  if (launch.matmul) {
    device::MatmulSpec spec;
    spec.name = launch.matmul->name;
    spec.descriptor = launch.matmul->descriptor;
    spec.workspace = launch.matmul->workspace;
    if (const auto &kernel = launch.matmul->kernel)
      spec.kernel = {kernel->name, kernel->blocks, kernel->threads,
                     kernel->shared};
    number = bench.defineMatmul(spec);
    return;
  }
  device::KernelSpec spec;
  spec.name = launch.name;
  spec.threads = launch.threads;
  spec.sharedBytes = launch.shared;
  // The device counts them.
  for (int64_t argument : launch.arguments)
    spec.ins.push_back(launch.buffers[size_t(argument)].bytes());
  number = bench.defineKernel(spec);
}

void LaunchRun::enqueue() {
  if (launch.matmul)
    bench.device->matmul(bench.stream, number, bench.at(offsets[0]),
                         bench.at(offsets[1]), bench.at(offsets[2]),
                         bench.at(workspace));
  else
    bench.device->launch(bench.stream, number, /*code=*/nullptr,
                         arguments.data(), launch.tiles);
}

void LaunchRun::prepare(uint8_t poison) {
  bench.fill(0, end, poison);
  for (size_t i = 0; i < contents.size(); ++i)
    if (launch.buffers[i].isRead)
      bench.write(offsets[i], contents[i]);
}

Bytes LaunchRun::readBuffer(size_t number) {
  return bench.read(offsets[number], launch.buffers[number].bytes());
}

void LaunchRun::checkGuards(uint8_t poison, LaunchFindings &findings) {
  int64_t begin = 0;
  for (size_t i = 0; i <= offsets.size(); ++i) {
    int64_t next = i < offsets.size() ? offsets[i] : end;
    Bytes guard = bench.read(begin, next - begin);
    auto written = std::find_if(guard.begin(), guard.end(), [&](char byte) {
      return byte != char(poison);
    });
    if (written != guard.end())
      addWrong(findings,
               fmt::format(
                   "writes outside of its buffers: {} bytes before buffer {}",
                   guard.end() - written, i));
    if (i < offsets.size())
      begin = offsets[i] + launch.buffers[i].bytes();
  }
}

void LaunchRun::checkArguments(LaunchFindings &findings) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (!launch.buffers[i].isWritten && readBuffer(i) != contents[i])
      addWrong(findings, fmt::format("writes buffer {}, an argument", i));
}

LaunchFindings LaunchRun::run(const std::vector<double> &samples,
                              bool measuresTime) {
  LaunchFindings findings;
  auto add = [&](size_t buffer, const std::string &wrong) {
    if (!wrong.empty())
      addWrong(findings, fmt::format("buffer {}: {}", buffer, wrong));
  };
  std::vector<Bytes> first(launch.buffers.size());
  for (int attempt = 0; attempt < 2; ++attempt) {
    uint8_t poison = poisons[attempt];
    prepare(poison);
    enqueue();
    bench.synchronize();
    checkGuards(poison, findings);
    if (attempt == 0)
      checkArguments(findings);
    for (size_t i = 0; i < first.size(); ++i) {
      const Buffer &buffer = launch.buffers[i];
      if (!buffer.isWritten)
        continue;
      Bytes results = readBuffer(i);
      // Of contents, padding is all ones.
      add(i, checkPadding(buffer, results,
                          buffer.isRead ? char(0xff) : char(poison)));
      if (attempt == 0) {
        first[i] = std::move(results);
        continue;
      }
      std::string differs = compareRuns(buffer, first[i], results);
      findings.hasSameBits &= differs.empty();
      add(i, differs);
    }
    findings.hasSameBits |= attempt == 0;
  }
  for (const Expectation &expected : launch.expectations) {
    const Bytes &got = first[size_t(expected.buffer)];
    findings.results.push_back(
        compareResult(launch, expected, samples, seed, got));
    add(size_t(expected.buffer), findings.results.back().wrong);
  }
  if (measuresTime)
    findings.seconds = bench.time([&] { enqueue(); });
  return findings;
}

} // namespace ppopt::gpu
