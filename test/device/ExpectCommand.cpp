//===- ExpectCommand.cpp - ppopt-emulate --save-expectations --------------===//

#include "ExpectCommand.h"

#include "DescribeLaunches.h"
#include "InstructionCode.h"
#include "KernelExpectation.h"
#include "KernelModule.h"
#include "MatmulExpectation.h"
#include "ReferenceCode.h"
#include "instructions.h"
#include "schema/write_fields.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace llvm;
using namespace emulated;
namespace gpu = ::ppopt::gpu;

namespace {

class ExpectationWriter {
public:
  explicit ExpectationWriter(const ExpectCommand &command)
      : command(command), filter(command.filter) {}

  Error write();

private:
  std::string getPath(const Twine &name) const {
    SmallString<128> path(command.folder);
    sys::path::append(path, name);
    return path.str().str();
  }
  Error writeFile(StringRef path, StringRef contents) const;
  Error writeImages(StringRef stem, const mlir::pp::DeviceImages &images) const;
  Error describe(const KernelModule &kernels);
  void add(gpu::Launch launch);
  Error compileDevice(KernelModule &kernels);
  void compute(gpu::Launch &launch, const ReferenceCode &reference);

  const ExpectCommand &command;
  const Regex filter;
  gpu::Bundle bundle;
  std::vector<double> samples;
};

} // namespace

Error ExpectationWriter::writeFile(StringRef path, StringRef contents) const {
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (!error) {
    out << contents;
    out.close();
    error = out.error();
    out.clear_error();
  }
  return error ? createStringError("can't write '" + path +
                                   "': " + error.message())
               : Error::success();
}

Error ExpectationWriter::writeImages(
    StringRef stem, const mlir::pp::DeviceImages &images) const {
  if (Error error = writeFile(getPath(stem + ".ptx"), images.text))
    return error;
  return writeFile(getPath(stem + ".cubin"), images.binary);
}

/// Adds a launch, under a name that no other has.
void ExpectationWriter::add(gpu::Launch launch) {
  unsigned number = 1;
  std::string name = launch.name;
  while (any_of(bundle.launches, [&](const gpu::Launch &other) {
    return other.name == launch.name;
  }))
    launch.name = name + "#" + std::to_string(++number);
  if (command.filter.empty() || filter.match(launch.name))
    bundle.launches.push_back(std::move(launch));
}

Error ExpectationWriter::describe(const KernelModule &kernels) {
  for (const KernelDescription &kernel : kernels.kernels) {
    auto launch = describeLaunch(kernel);
    if (!launch)
      return launch.takeError();
    add(std::move(*launch));
  }
  for (const MatmulDescription &matmul : kernels.matmuls)
    add(describeLaunch(matmul));
  for (const MatmulDescription &matmul : kernels.libraryMatmuls)
    add(describeLaunch(matmul));
  if (bundle.launches.empty())
    return createStringError("no kernel and no matmul of '" + command.kernels +
                             "' has such a name");
  return Error::success();
}

/// Writes the device code of the program and of the instructions.
Error ExpectationWriter::compileDevice(KernelModule &kernels) {
  if (Error error = kernels.saveDeviceIR(command.deviceIR))
    return error;
  auto images =
      kernels.compileDeviceCode(command.gpu, getPath(gpu::kernelsStem));
  if (!images)
    return images.takeError();
  if (Error error = writeImages(gpu::kernelsStem, *images))
    return error;
  auto code = compileInstructions(command.gpu, getPath(gpu::instructionsStem));
  if (!code)
    return code.takeError();
  for (const gpu::Instruction &each : gpu::listInstructions())
    bundle.instructions.push_back(each.name);
  if (Error error = writeImages(gpu::instructionsStem, code->images))
    return error;
  return command.instructionIR.empty()
             ? Error::success()
             : writeFile(command.instructionIR, code->ir);
}

void ExpectationWriter::compute(gpu::Launch &launch,
                                const ReferenceCode &reference) {
  auto start = std::chrono::steady_clock::now();
  if (launch.matmul)
    computeExpectation(launch, bundle.seed, command.samples, samples);
  else
    KernelExpectation(launch, reference, bundle.seed, command.samples)
        .compute(samples);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  outs() << launch.name << ":";
  for (const gpu::Expectation &result : launch.expectations)
    outs() << " " << result.samples << " samples, largest "
           << format("%.3g", result.largest) << ", tolerance "
           << format("%.3g", result.tolerance) << ";";
  outs() << (launch.draw.positive ? " positive" : "")
         << (launch.draw.flags ? " flags" : "")
         << format(" %.2f s\n", time.count());
}

Error ExpectationWriter::write() {
  auto kernels = KernelModule::read(command.kernels);
  if (!kernels)
    return kernels.takeError();
  if (std::error_code error = sys::fs::create_directories(command.folder))
    return createStringError("can't make '" + command.folder +
                             "': " + error.message());
  bundle.source = sys::path::filename(command.kernels).str();
  bundle.gpu = command.gpu;
  bundle.operands = command.operands;
  if (Error error = describe(*kernels))
    return error;
  if (Error error = compileDevice(*kernels))
    return error;
  auto reference = ReferenceCode::compile(*kernels, CodeGenOptLevel::Less);
  if (!reference)
    return reference.takeError();
  for (gpu::Launch &launch : bundle.launches)
    compute(launch, *reference);
  if (Error error = writeFile(getPath(gpu::samplesFile),
                              {reinterpret_cast<const char *>(samples.data()),
                               samples.size() * sizeof(double)}))
    return error;
  return writeFile(getPath(gpu::manifestFile),
                   ::ppopt::schema::toJson(bundle).dump(/*indent=*/1) + "\n");
}

Error emulated::writeExpectations(const ExpectCommand &command) {
  std::string wrong;
  if (!command.filter.empty() && !Regex(command.filter).isValid(wrong))
    return createStringError("'" + command.filter +
                             "' is no regular expression: " + wrong);
  return ExpectationWriter(command).write();
}
