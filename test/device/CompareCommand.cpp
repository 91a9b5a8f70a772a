//===- CompareCommand.cpp - Device kernels against those of the CPU -------===//

#include "CompareCommand.h"

#include "DrawInputs.h"
#include "KernelLaunch.h"
#include "MatmulComparison.h"
#include "ReferenceCode.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>

using namespace llvm;
using namespace emulated;

namespace {

/// How far a result is from the reference, relative to its largest element.
struct Difference {
  double worst = 0;
  int64_t element = -1; ///< that is off by this
};

class KernelComparison {
public:
  KernelComparison(const KernelDescription &kernel, const KernelCode &code,
                   const ReferenceCode &reference)
      : kernel(kernel), code(code), reference(reference),
        worst(kernel.results.size()) {}

  /// Returns what is wrong, or an empty string.
  std::string run(uint64_t seed, bool isPositive);
  std::string runEnds();
  json::Object getFigures() const;

private:
  std::vector<Bytes> computeReference(ArrayRef<Bytes> inputs) const;
  double measureNoise(unsigned result, ArrayRef<Bytes> want) const;
  const Bytes &contentsOf(ArrayRef<Bytes> contents, unsigned result) const;
  std::string compare(unsigned result, ArrayRef<Bytes> got,
                      ArrayRef<Bytes> want);

  const KernelDescription &kernel;
  const KernelCode &code;
  const ReferenceCode &reference;
  std::vector<Bytes> inputs;
  std::vector<double> worst;
  Counters counters;
};

} // namespace

/// The largest difference that rounding explains.
static double getTolerance(mlir::Type type) {
  if (type.isF64())
    return 1e-12;
  if (type.isF32())
    return 1e-5;
  return type.isBF16() ? 0x1p-7 : 0;
}

/// Returns the contents of all buffers afterwards.
std::vector<Bytes>
KernelComparison::computeReference(ArrayRef<Bytes> inputs) const {
  std::vector<Buffer> buffers;
  std::vector<void *> addresses;
  std::vector<uint64_t> sizes;
  auto add = [&](uint64_t bytes) {
    addresses.push_back(
        buffers.emplace_back(buffers.size(), bytes, /*offset=*/0).data());
    sizes.push_back(bytes);
  };
  for (const Bytes &input : inputs) {
    add(input.size());
    copy(input, static_cast<char *>(addresses.back()));
  }
  for (const Operand &result : kernel.results)
    add(result.getBytes());
  reference.run(kernel.name, addresses.data());
  std::vector<Bytes> contents;
  for (auto [address, size] : zip(addresses, sizes)) {
    const char *begin = static_cast<const char *>(address);
    contents.emplace_back(begin, begin + size);
  }
  return contents;
}

const Bytes &KernelComparison::contentsOf(ArrayRef<Bytes> contents,
                                          unsigned result) const {
  int64_t argument = kernel.inplace[result];
  return contents[argument >= 0 ? argument : inputs.size() + result];
}

static Difference measure(const Bytes &got, const Bytes &want,
                          mlir::RankedTensorType tensor) {
  mlir::Type type = tensor.getElementType();
  double largest = 0;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    double value = std::fabs(readElement(want.data(), i, type));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  }
  Difference result;
  for (int64_t i = 0, e = tensor.getNumElements(); i < e; ++i) {
    double a = readElement(got.data(), i, type);
    double b = readElement(want.data(), i, type);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double off = std::fabs(a - b) / largest;
    if (!std::isfinite(off))
      off = INFINITY;
    if (off > result.worst)
      result = {off, i};
  }
  return result;
}

/// Returns by how much the reference itself changes if the arguments change by
/// one rounding: where much cancels, a kernel can be no better.
double KernelComparison::measureNoise(unsigned result,
                                      ArrayRef<Bytes> want) const {
  double noise = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<Bytes> perturbed;
    for (auto [i, operand] : enumerate(kernel.arguments))
      perturbed.push_back(perturbInput(operand, inputs[i], seed * 1000 + i));
    std::vector<Bytes> other = computeReference(perturbed);
    noise = std::max(noise, measure(contentsOf(other, result),
                                    contentsOf(want, result),
                                    kernel.results[result].type)
                                .worst);
  }
  return noise;
}

std::string KernelComparison::compare(unsigned result, ArrayRef<Bytes> got,
                                      ArrayRef<Bytes> want) {
  mlir::RankedTensorType tensor = kernel.results[result].type;
  mlir::Type type = tensor.getElementType();
  const Bytes &own = contentsOf(got, result),
              &reference = contentsOf(want, result);
  Difference difference = measure(own, reference, tensor);
  worst[result] = std::max(worst[result], difference.worst);
  double tolerance = getTolerance(type);
  // An approximate instruction is off by a few roundings, and several follow
  // one another.
  constexpr double kRoundings = 16;
  if (difference.worst > tolerance && isa<mlir::FloatType>(type)) {
    double noise = measureNoise(result, want);
    if (std::isfinite(noise))
      tolerance = std::max(tolerance, kRoundings * noise);
  }
  if (difference.worst <= tolerance)
    return "";
  std::string text;
  raw_string_ostream out(text);
  out << "kernel '" << kernel.name << "': element " << difference.element
      << " of result " << result << " (" << tensor << ") is "
      << readElement(own.data(), difference.element, type) << ", not "
      << readElement(reference.data(), difference.element, type) << ": off by "
      << difference.worst << " of the largest element, more than " << tolerance;
  return text;
}

std::string KernelComparison::run(uint64_t seed, bool isPositive) {
  inputs.clear();
  for (auto [i, operand] : enumerate(kernel.arguments))
    inputs.push_back(drawInput(operand, kernel, isPositive, seed * 1000 + i));
  Outcome outcome = emulateDraw(makeLaunch(kernel, code, inputs), seed);
  if (!outcome.error.empty())
    return outcome.error;
  counters = outcome.counters;
  std::vector<Bytes> want = computeReference(inputs);
  for (unsigned i = 0; i < kernel.results.size(); ++i) {
    std::string wrong = compare(i, outcome.contents, want);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

std::string KernelComparison::runEnds() {
  EmulatedLaunch launch = makeLaunch(kernel, code, /*inputs=*/{});
  unsigned last = launch.grid - 1;
  launch.blocks = {0, 1, launch.grid / 2, last - (last > 0), last};
  llvm::sort(launch.blocks);
  launch.blocks.erase(llvm::unique(launch.blocks), launch.blocks.end());
  while (launch.blocks.back() > last)
    launch.blocks.pop_back();
  for (LaunchBuffer &buffer : launch.arguments)
    buffer.isForgotten = true;
  Outcome outcome = emulate(launch, Order::Forward, /*seed=*/1);
  counters = outcome.counters;
  return outcome.error;
}

json::Object KernelComparison::getFigures() const {
  json::Object figures{{"kernel", kernel.name},
                       {"form", kernel.form},
                       {"blocks", counters.blocks},
                       {"threads", code.threads},
                       {"barriers", counters.barriers},
                       {"warp operations", counters.warpOperations}};
  json::Array errors;
  for (double each : worst)
    // JSON has no infinity.
    errors.push_back(std::isfinite(each) ? json::Value(each)
                                         : json::Value("infinite"));
  figures["errors"] = std::move(errors);
  return figures;
}

static std::string checkSignature(StringRef name, size_t pointers,
                                  const KernelCode *code) {
  if (!code)
    return ("kernel '" + name + "' is not in the device code").str();
  if (code->arguments != pointers)
    return ("kernel '" + name + "' takes ").str() +
           std::to_string(code->arguments) + " pointers, not " +
           std::to_string(pointers);
  return "";
}

/// Returns what is wrong with a kernel, or an empty string.
template <typename Comparison>
static std::string compare(Comparison comparison,
                           const CompareCommand &command) {
  auto start = std::chrono::steady_clock::now();
  std::string wrong;
  if (command.isOfEnds)
    wrong = comparison.runEnds();
  else
    for (unsigned seed = 0; seed < command.seeds && wrong.empty(); ++seed)
      wrong = comparison.run(seed + 1, /*isPositive=*/seed % 2);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  json::Object figures = comparison.getFigures();
  figures["seconds"] = time.count();
  outs() << json::Value(std::move(figures)) << "\n";
  return wrong;
}

/// Leaves out the kernels whose digests the file has. Returns the digests of
/// the others.
static Expected<StringMap<std::string>>
leaveOutCompared(KernelModule &kernels, const CompareCommand &command) {
  auto digests = kernels.digestKernels();
  if (!digests)
    return digests;
  StringSet<> compared;
  std::string seeds = " " + std::to_string(command.seeds);
  if (auto file = MemoryBuffer::getFile(command.compared)) {
    SmallVector<StringRef> lines;
    (*file)->getBuffer().split(lines, '\n');
    for (StringRef line : lines)
      compared.insert(line);
  }
  for (auto &each : *digests)
    each.second += seeds;
  kernels.erase([&](StringRef name) {
    auto digest = digests->find(name);
    return digest != digests->end() && compared.contains(digest->second);
  });
  return digests;
}

/// Adds the digest of a kernel to the file, which others may write too.
static Error addCompared(StringRef path, StringRef digest) {
  std::error_code error;
  raw_fd_ostream out(path, error, sys::fs::OF_Append);
  if (error)
    return createStringError("can't write '" + path + "': " + error.message());
  out << (digest + "\n").str();
  return Error::success();
}

Error emulated::compareKernels(const CompareCommand &command) {
  auto kernels = KernelModule::read(command.kernels);
  if (!kernels)
    return kernels.takeError();
  // Of all kernels.
  if (Error error = kernels->saveDeviceIR(command.saved))
    return error;
  if (!command.filter.empty())
    if (Error error = kernels->keepOnly(command.filter))
      return error;
  StringMap<std::string> digests;
  if (!command.compared.empty()) {
    auto left = leaveOutCompared(*kernels, command);
    if (!left)
      return left.takeError();
    digests = std::move(*left);
    if (kernels->kernels.empty() && kernels->matmuls.empty())
      return Error::success();
  }
  auto text = kernels->getDeviceIR(command.device);
  if (!text)
    return text.takeError();
  auto code = DeviceCode::load({*text, command.device});
  if (!code)
    return code.takeError();
  auto reference = ReferenceCode::compile(*kernels, CodeGenOptLevel::None);
  if (!reference)
    return reference.takeError();
  Error errors = Error::success();
  auto check = [&](StringRef name, size_t pointers, auto makeComparison) {
    const KernelCode *own = code->find(name);
    std::string wrong = checkSignature(name, pointers, own);
    if (wrong.empty())
      wrong = compare(makeComparison(*own), command);
    if (!wrong.empty())
      errors = joinErrors(std::move(errors), createStringError(wrong));
    else if (auto digest = digests.find(name); digest != digests.end())
      errors = joinErrors(std::move(errors),
                          addCompared(command.compared, digest->second));
  };
  for (const KernelDescription &kernel : kernels->kernels)
    check(kernel.name, kernel.arguments.size() + kernel.results.size(),
          [&](const KernelCode &own) {
            return KernelComparison(kernel, own, *reference);
          });
  for (const MatmulDescription &matmul : kernels->matmuls)
    check(matmul.name, /*pointers=*/3,
          [&](const KernelCode &own) { return MatmulComparison(matmul, own); });
  return errors;
}
