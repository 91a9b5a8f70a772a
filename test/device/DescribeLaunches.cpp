//===- DescribeLaunches.cpp - Kernels and matmuls for a runner on GPUs ----===//

#include "DescribeLaunches.h"

#include "ppopt/Program/SchemaWords.h"

using namespace mlir;
using namespace emulated;
using ::ppopt::gpu::Buffer;
using ::ppopt::gpu::ElementType;
using ::ppopt::gpu::Fill;
using ::ppopt::gpu::Launch;

static Fill getFill(const Operand &operand) {
  Type type = operand.type.getElementType();
  if (isa<FloatType>(type))
    return operand.isFlag ? Fill::flag : Fill::numbers;
  if (type.isInteger(1))
    return Fill::bits;
  if (operand.isRandomKey)
    return Fill::randomKey;
  if (operand.positions)
    return Fill::positions;
  if (operand.tokens)
    return Fill::documents;
  return operand.indices ? Fill::indices : Fill::small;
}

static Buffer describe(const Operand &operand,
                       const KernelDescription &kernel) {
  Buffer buffer;
  buffer.type = pp::getSchemaType(operand.type.getElementType());
  int64_t rows = pp::getRowCount(operand.type.getShape()),
          columns = pp::getColumnCount(operand.type.getShape());
  buffer.sizes = {rows, columns};
  buffer.strides = {operand.pitch.value_or(columns), 1};
  buffer.offset = operand.isUnaligned ? operand.getElementBytes() : 0;
  buffer.fill = getFill(operand);
  buffer.mean = operand.mean;
  buffer.deviation = operand.deviation;
  buffer.limit = operand.positions ? *operand.positions
                 : operand.tokens  ? *operand.tokens
                 : operand.indices ? *operand.indices
                                   : kernel.columns;
  return buffer;
}

static void setWork(Launch &launch, const pp::Work &work) {
  launch.bytes = work.bytes;
  launch.flops = work.flops;
  for (const pp::Device &device : pp::getGpuDevices())
    launch.predictions.push_back({device.name, work.getTime(device) / 1e3});
}

llvm::Expected<Launch>
emulated::describeLaunch(const KernelDescription &kernel) {
  Launch launch;
  launch.name = kernel.name;
  launch.form = kernel.form;
  launch.tiles = kernel.grid;
  launch.threads = kernel.threads;
  launch.shared = kernel.sharedBytes;
  for (const Operand &operand : kernel.arguments) {
    launch.arguments.push_back(launch.buffers.size());
    launch.buffers.push_back(describe(operand, kernel));
    launch.buffers.back().isRead = true;
  }
  for (auto [operand, argument] : llvm::zip(kernel.results, kernel.inplace)) {
    Buffer buffer = describe(operand, kernel);
    int64_t number = argument;
    if (argument < 0) {
      number = launch.buffers.size();
      launch.buffers.push_back(buffer);
    }
    Buffer &own = launch.buffers[number];
    if (own.type != buffer.type || own.elements() != buffer.elements())
      return llvm::createStringError("kernel '" + kernel.name +
                                     "' has a result in place of an argument " +
                                     "of another type");
    own.isWritten = true;
    launch.arguments.push_back(number);
    launch.expectations.emplace_back().buffer = number;
  }
  setWork(launch, kernel.work);
  return launch;
}

Launch emulated::describeLaunch(const MatmulDescription &matmul) {
  Launch launch;
  launch.name = matmul.name;
  launch.form = "matmul";
  ::ppopt::schema::Matmul &entry = launch.matmul.emplace();
  entry.name = matmul.name;
  entry.descriptor = matmul.descriptor;
  entry.workspace = matmul.workspaceBytes;
  if (matmul.threads)
    entry.kernel = {matmul.name, matmul.grid, matmul.threads,
                    int64_t(matmul.sharedBytes)};
  auto add = [&](Type type, const MatmulSide &side, int64_t rows,
                 int64_t columns) -> Buffer & {
    Buffer &buffer = launch.buffers.emplace_back();
    buffer.type = pp::getSchemaType(type);
    buffer.sizes = {matmul.batch[0], matmul.batch[1], rows, columns};
    buffer.strides = {side.strides.begin(), side.strides.end()};
    buffer.offset = side.offset;
    buffer.isRead = true;
    return buffer;
  };
  add(matmul.type, matmul.a, matmul.m, matmul.k);
  add(matmul.type, matmul.b, matmul.k, matmul.n);
  Buffer &c = add(matmul.cType, matmul.c, matmul.m, matmul.n);
  c.isRead = matmul.accumulate;
  c.isWritten = true;
  launch.expectations.emplace_back().buffer = 2;
  setWork(launch, matmul.work);
  return launch;
}
