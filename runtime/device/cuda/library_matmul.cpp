//===- library_matmul.cpp - A matmul by cuBLASLt --------------------------===//

#include "device/cuda/library_matmul.h"

#include "base/error.h"
#include "device/cuda/library.h"

#include <tuple>

namespace ppopt::cuda {
namespace {

/// What an algorithm can make use of. Buffers begin at multiples of it.
constexpr uint32_t bestAlignment = 256;

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

int64_t bytesOf(MatmulType type) {
  return type == MatmulType::f64 ? 8 : type == MatmulType::f32 ? 4 : 2;
}

/// Returns the largest power of two up to the best that divides an address, and
/// the distance between calls.
uint32_t alignmentOf(DeviceMemory address, int64_t stride) {
  uint64_t bits = address | uint64_t(stride) | bestAlignment;
  return uint32_t(bits & (~bits + 1));
}

} // namespace

Blas::Blas() : api(loadCublasLt()) {
  check(api.create(&handle), "opening cuBLASLt");
}

Blas::~Blas() { api.destroy(handle); }

std::string Blas::describe() const {
  size_t version = api.getVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

bool LibraryMatmul::Alignment::operator<(const Alignment &other) const {
  return std::tie(left, right, result) <
         std::tie(other.left, other.right, other.result);
}

std::string LibraryMatmul::describe() const {
  return fmt::format("matmul {} ({}x{}x{}, batch {})", name, descriptor.m,
                     descriptor.n, descriptor.k,
                     descriptor.batch[0] * descriptor.batch[1]);
}

LibraryMatmul::LibraryMatmul(const Blas &blas, const device::MatmulSpec &spec)
    : blas(blas), name(spec.name), descriptor(spec.descriptor),
      workspaceBytes(spec.workspace) {
  std::optional<ColumnMajorMatmul> found = asColumnMajor(descriptor);
  if (!found)
    throw runtime::Error("{}: cuBLASLt has no matrices with these strides; "
                         "compile the program with --matmul generated",
                         describe());
  shape = *found;
  bool isWide = descriptor.type == MatmulType::f64;
  check(blas.api.descCreate(&desc, isWide ? ComputeType::f64 : ComputeType::f32,
                            isWide ? DataType::f64 : DataType::f32),
        describe());
  auto transpose = [&](DescAttribute attribute,
                       const ColumnMajorMatrix &matrix) {
    Transpose value = matrix.transposed ? Transpose::yes : Transpose::no;
    check(blas.api.descSetAttribute(desc, attribute, &value, sizeof value),
          describe());
  };
  transpose(DescAttribute::transposeA, shape.left);
  transpose(DescAttribute::transposeB, shape.right);
  left = makeLayout(typeOf(descriptor.type), shape.left);
  right = makeLayout(typeOf(descriptor.type), shape.right);
  result = makeLayout(typeOf(descriptor.cType), shape.result);
  // What fails, fails before the first step.
  choose({bestAlignment, bestAlignment, bestAlignment});
}

LibraryMatmul::~LibraryMatmul() {
  for (MatrixLayout layout : {left, right, result})
    if (layout)
      blas.api.layoutDestroy(layout);
  if (desc)
    blas.api.descDestroy(desc);
}

MatrixLayout LibraryMatmul::makeLayout(DataType type,
                                       const ColumnMajorMatrix &matrix) const {
  MatrixLayout layout = nullptr;
  check(blas.api.layoutCreate(&layout, type, uint64_t(matrix.rows),
                              uint64_t(matrix.columns), matrix.leading),
        describe());
  int32_t count = int32_t(shape.batch);
  check(blas.api.layoutSetAttribute(layout, LayoutAttribute::batchCount, &count,
                                    sizeof count),
        describe());
  check(blas.api.layoutSetAttribute(layout, LayoutAttribute::batchStride,
                                    &matrix.batchStride,
                                    sizeof matrix.batchStride),
        describe());
  return layout;
}

const MatmulAlgorithm &LibraryMatmul::choose(const Alignment &alignment) {
  if (auto found = chosen.find(alignment); found != chosen.end())
    return found->second;
  const CublasLtApi &api = blas.api;
  MatmulPreference preference = nullptr;
  check(api.preferenceCreate(&preference), describe());
  auto set = [&](PreferenceAttribute attribute, auto value) {
    return api.preferenceSetAttribute(preference, attribute, &value,
                                      sizeof value);
  };
  HeuristicResult best{};
  int found = 0;
  BlasResult status = BlasResult::success;
  for (BlasResult each :
       {set(PreferenceAttribute::maxWorkspaceBytes, uint64_t(workspaceBytes)),
        // Partial sums are not rounded to the type of C.
        set(PreferenceAttribute::reductionSchemes,
            uint32_t(reductionInComputeType)),
        set(PreferenceAttribute::alignmentA, alignment.left),
        set(PreferenceAttribute::alignmentB, alignment.right),
        set(PreferenceAttribute::alignmentC, alignment.result),
        set(PreferenceAttribute::alignmentD, alignment.result)})
    if (status == BlasResult::success)
      status = each;
  if (status == BlasResult::success)
    status = api.getHeuristic(blas.handle, desc, left, right, result, result,
                              preference, 1, &best, &found);
  api.preferenceDestroy(preference);
  if (status == BlasResult::success && found > 0)
    status = best.state;
  if (status == BlasResult::notSupported ||
      (status == BlasResult::success && found == 0))
    throw runtime::Error("{}: {} has no algorithm for it on this GPU; compile "
                         "the program with --matmul generated",
                         describe(), blas.describe());
  check(status, describe());
  return chosen.emplace(alignment, best.algorithm).first->second;
}

void LibraryMatmul::run(Stream stream, DeviceMemory a, DeviceMemory b,
                        DeviceMemory c, DeviceMemory workspace) {
  int64_t bytes = bytesOf(descriptor.type),
          resultBytes = bytesOf(descriptor.cType);
  int64_t leftStep = shape.left.outerStride * bytes,
          rightStep = shape.right.outerStride * bytes,
          resultStep = shape.result.outerStride * resultBytes;
  const MatmulAlgorithm &algorithm =
      choose({alignmentOf(b, leftStep), alignmentOf(a, rightStep),
              alignmentOf(c, resultStep)});
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
          describe());
  }
}

} // namespace ppopt::cuda
