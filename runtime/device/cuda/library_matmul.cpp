//===- library_matmul.cpp - A matmul by cuBLASLt --------------------------===//

#include "device/cuda/library_matmul.h"

#include "base/missing_device.h"
#include "device/cuda/library.h"

#include <algorithm>

namespace ppopt::cuda {
namespace {

DataType typeOf(MatmulType type) {
  switch (type) {
  case MatmulType::f32:
    return DataType::f32;
  case MatmulType::f64:
    return DataType::f64;
  case MatmulType::bf16:
    return DataType::bf16;
  }
  return DataType::f32;
}

/// Returns the largest power of two up to the most that divides an address, and
/// the distance between calls.
int64_t commonAlignment(DeviceMemory address, int64_t stride) {
  uint64_t bits = address | uint64_t(stride) | device::mostAlignment;
  return int64_t(bits & (~bits + 1));
}

} // namespace

Blas::Blas() : api(open()) {}

const CublasLtApi &Blas::open() {
  // A driver runs libraries of its own version of CUDA and of older ones.
  bool isOld = driverVersionNumber() < 13000;
  std::string missing;
  for (int major : {isOld ? 12 : 13, isOld ? 13 : 12}) {
    const CublasLt &library = loadCublasLt(major);
    if (!library.api) {
      missing += (missing.empty() ? "" : "; ") + library.missing;
      continue;
    }
    BlasResult result = library.api->create(&handle);
    if (result == BlasResult::success) {
      if (!fallback.empty())
        fallback += "; matmuls use " + library.name;
      return *library.api;
    }
    fallback += fmt::format("{}{} can't start on this driver ({}): {}",
                            fallback.empty() ? "" : "; ", library.name,
                            driverVersion(), spell(result));
  }
  const char *advice =
      "install the CUDA toolkit of the driver's version, or its wheel "
      "nvidia-cublas, and set CUDA_HOME or LD_LIBRARY_PATH to its folder, or "
      "compile the program with --matmul generated";
  if (fallback.empty())
    throw runtime::MissingDevice(
        "this program computes matmuls by cuBLASLt, and neither "
        "libcublasLt.so.13 nor libcublasLt.so.12 can be loaded; {} ({})",
        advice, missing);
  throw runtime::Error("{}; {}", fallback, advice);
}

Blas::~Blas() { api.destroy(handle); }

std::string Blas::describe() const {
  size_t version = api.getVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

LibraryCall::LibraryCall(const Blas &blas, const MatmulDescriptor &descriptor,
                         int64_t workspaceBytes, std::string title)
    : blas(blas), descriptor(descriptor), workspaceBytes(workspaceBytes),
      title(std::move(title)) {
  std::optional<ColumnMajorMatmul> found = asColumnMajor(descriptor);
  if (!found)
    throw runtime::Error("{}: cuBLASLt has no matrices with these strides; "
                         "compile the program with --matmul generated",
                         this->title);
  shape = *found;
  bool isWide = descriptor.type == MatmulType::f64;
  check(blas.api.descCreate(&desc, isWide ? ComputeType::f64 : ComputeType::f32,
                            isWide ? DataType::f64 : DataType::f32),
        title);
  auto transpose = [&](DescAttribute attribute,
                       const ColumnMajorMatrix &matrix) {
    Transpose value = matrix.transposed ? Transpose::yes : Transpose::no;
    check(blas.api.descSetAttribute(desc, attribute, &value, sizeof value),
          title);
  };
  transpose(DescAttribute::transposeA, shape.left);
  transpose(DescAttribute::transposeB, shape.right);
  left = makeLayout(typeOf(descriptor.type), shape.left);
  right = makeLayout(typeOf(descriptor.type), shape.right);
  result = makeLayout(typeOf(descriptor.cType), shape.result);
  // What fails, fails before the first step.
  choose({device::mostAlignment, device::mostAlignment, device::mostAlignment});
}

LibraryCall::~LibraryCall() {
  for (MatrixLayout layout : {left, right, result})
    if (layout)
      blas.api.layoutDestroy(layout);
  if (desc)
    blas.api.descDestroy(desc);
}

MatrixLayout LibraryCall::makeLayout(DataType type,
                                     const ColumnMajorMatrix &matrix) const {
  MatrixLayout layout = nullptr;
  check(blas.api.layoutCreate(&layout, type, uint64_t(matrix.rows),
                              uint64_t(matrix.columns), matrix.leading),
        title);
  int32_t count = int32_t(shape.batch);
  check(blas.api.layoutSetAttribute(layout, LayoutAttribute::batchCount, &count,
                                    sizeof count),
        title);
  check(blas.api.layoutSetAttribute(layout, LayoutAttribute::batchStride,
                                    &matrix.batchStride,
                                    sizeof matrix.batchStride),
        title);
  return layout;
}

std::vector<MatmulAlgorithm>
LibraryCall::algorithms(const device::MatmulAlignment &alignment,
                        int most) const {
  const CublasLtApi &api = blas.api;
  MatmulPreference preference = nullptr;
  check(api.preferenceCreate(&preference), title);
  auto set = [&](PreferenceAttribute attribute, auto value) {
    return api.preferenceSetAttribute(preference, attribute, &value,
                                      sizeof value);
  };
  std::vector<HeuristicResult> results(size_t(most), HeuristicResult{});
  int found = 0;
  BlasResult status = BlasResult::success;
  for (BlasResult each :
       {set(PreferenceAttribute::maxWorkspaceBytes, uint64_t(workspaceBytes)),
        // Partial sums are not rounded to the type of C.
        set(PreferenceAttribute::reductionSchemes,
            uint32_t(reductionInComputeType)),
        // The left operand is B of the program.
        set(PreferenceAttribute::alignmentA, uint32_t(alignment.b)),
        set(PreferenceAttribute::alignmentB, uint32_t(alignment.a)),
        set(PreferenceAttribute::alignmentC, uint32_t(alignment.c)),
        set(PreferenceAttribute::alignmentD, uint32_t(alignment.c))})
    if (status == BlasResult::success)
      status = each;
  if (status == BlasResult::success)
    status = api.getHeuristic(blas.handle, desc, left, right, result, result,
                              preference, most, results.data(), &found);
  api.preferenceDestroy(preference);
  results.resize(size_t(std::max(found, 0)));
  if (status == BlasResult::success && !results.empty())
    status = results.front().state;
  if (status == BlasResult::notSupported ||
      (status == BlasResult::success && results.empty()))
    throw runtime::Error("{}: {} has no algorithm for it on this GPU; compile "
                         "the program with --matmul generated",
                         title, blas.describe());
  check(status, title);
  std::vector<MatmulAlgorithm> valid;
  for (const HeuristicResult &each : results)
    if (each.state == BlasResult::success)
      valid.push_back(each.algorithm);
  return valid;
}

void LibraryCall::use(const device::MatmulAlignment &alignment,
                      const MatmulAlgorithm &algorithm) {
  HeuristicResult checked{};
  BlasResult status = blas.api.checkAlgorithm(
      blas.handle, desc, left, right, result, result, &algorithm, &checked);
  if (status == BlasResult::success)
    status = checked.state;
  check(status, title + ": an algorithm that was chosen for it");
  if (checked.workspaceBytes > size_t(workspaceBytes))
    throw runtime::Error("{}: an algorithm that was chosen for it needs a "
                         "workspace of {} bytes, and {} are planned",
                         title, checked.workspaceBytes, workspaceBytes);
  chosen[alignment] = algorithm;
}

const MatmulAlgorithm &
LibraryCall::choose(const device::MatmulAlignment &alignment) {
  auto found = chosen.find(alignment);
  if (found == chosen.end())
    found = chosen.emplace(alignment, algorithms(alignment, 1).front()).first;
  return found->second;
}

device::MatmulAlignment LibraryCall::alignmentOf(DeviceMemory a, DeviceMemory b,
                                                 DeviceMemory c) const {
  int64_t bytes = elementBytes(descriptor.type),
          resultBytes = elementBytes(descriptor.cType);
  return {commonAlignment(a, shape.right.outerStride * bytes),
          commonAlignment(b, shape.left.outerStride * bytes),
          commonAlignment(c, shape.result.outerStride * resultBytes)};
}

void LibraryCall::run(Stream stream, DeviceMemory a, DeviceMemory b,
                      DeviceMemory c, DeviceMemory workspace) {
  int64_t bytes = elementBytes(descriptor.type),
          resultBytes = elementBytes(descriptor.cType);
  int64_t leftStep = shape.left.outerStride * bytes,
          rightStep = shape.right.outerStride * bytes,
          resultStep = shape.result.outerStride * resultBytes;
  const MatmulAlgorithm &algorithm = choose(alignmentOf(a, b, c));
  // Scalars have the type that products are added in.
  double one = 1, added = descriptor.accumulate ? 1 : 0;
  float oneNarrow = 1, addedNarrow = float(added);
  bool isWide = descriptor.type == MatmulType::f64;
  const void *alpha = isWide ? static_cast<void *>(&one) : &oneNarrow;
  const void *beta = isWide ? static_cast<void *>(&added) : &addedNarrow;
  auto at = [](DeviceMemory address) {
    return reinterpret_cast<void *>(uintptr_t(address));
  };
  for (int64_t i = 0; i < shape.outer; ++i) {
    void *sum = at(c + DeviceMemory(i * resultStep));
    check(blas.api.matmul(blas.handle, desc, alpha,
                          at(b + DeviceMemory(i * leftStep)), left,
                          at(a + DeviceMemory(i * rightStep)), right, beta, sum,
                          result, sum, result, &algorithm, at(workspace),
                          size_t(workspaceBytes), stream),
          title);
  }
}

LibraryMatmul::LibraryMatmul(const Blas &blas, const device::MatmulSpec &spec) {
  const MatmulDescriptor &whole = spec.descriptor;
  std::string title =
      fmt::format("matmul {} ({}x{}x{}, batch {})", spec.name, whole.m, whole.n,
                  whole.k, whole.batch[0] * whole.batch[1]);
  parts = splitMatmul(whole, fewestSplitProducts);
  for (const MatmulPart &part : parts)
    calls.push_back(std::make_unique<LibraryCall>(blas, part.matmul,
                                                  spec.workspace, title));
}

void LibraryMatmul::run(Stream stream, DeviceMemory a, DeviceMemory b,
                        DeviceMemory c, DeviceMemory workspace) {
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t bytes = elementBytes(parts[i].matmul.type),
            resultBytes = elementBytes(parts[i].matmul.cType);
    calls[i]->run(stream, a + DeviceMemory(parts[i].a * bytes),
                  b + DeviceMemory(parts[i].b * bytes),
                  c + DeviceMemory(parts[i].c * resultBytes), workspace);
  }
}

} // namespace ppopt::cuda
