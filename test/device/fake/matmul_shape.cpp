//===- matmul_shape.cpp - Which matmuls the fake cuBLASLt takes -----------===//

#include "fake/cublaslt.h"

#include <initializer_list>
#include <utility>

namespace ppopt::cuda::fake {

uint64_t byteSize(DataType type) {
  switch (type) {
  case DataType::f32:
    return 4;
  case DataType::f64:
    return 8;
  case DataType::bf16:
    return 2;
  }
  return 0;
}

uint64_t extent(const FakeLayout &layout) {
  uint64_t last = (layout.columns - 1) * uint64_t(layout.leading) +
                  layout.rows +
                  uint64_t(layout.batch - 1) * uint64_t(layout.batchStride);
  return last * byteSize(layout.type);
}

static std::string findError(const char *name, const FakeLayout &layout) {
  if (byteSize(layout.type) == 0)
    return fmt::format("{} has type {}", name, int(layout.type));
  if (layout.rows == 0 || layout.columns == 0)
    return fmt::format("{} is {} x {}", name, layout.rows, layout.columns);
  if (layout.leading < int64_t(layout.rows))
    return fmt::format("{} has {} rows and a leading dimension of {}", name,
                       layout.rows, layout.leading);
  if (layout.batch < 1)
    return fmt::format("{} has a batch of {}", name, layout.batch);
  return "";
}

std::string MatmulShape::findError() const {
  for (auto [name, layout] :
       {std::pair{"A", &a}, {"B", &b}, {"C", &c}, {"D", &d}}) {
    std::string wrong = fake::findError(name, *layout);
    if (!wrong.empty())
      return wrong;
    if (layout->batch != d.batch)
      return fmt::format("{} has a batch of {}, D of {}", name, layout->batch,
                         d.batch);
  }
  if (c.type != d.type || c.rows != d.rows || c.columns != d.columns)
    return "C and D differ in type or size";
  // Matrices of a batch must not share elements that are written.
  int64_t span = (int64_t(d.columns) - 1) * d.leading + int64_t(d.rows);
  bool isInterleaved =
      d.batchStride >= int64_t(d.rows) && d.batchStride * d.batch <= d.leading;
  if (d.batch > 1 && d.batchStride < span && !isInterleaved)
    return fmt::format("matrices of D overlap: a batch stride of {}",
                       d.batchStride);
  uint64_t aRows = desc.a == Transpose::no ? a.rows : a.columns,
           bRows = desc.b == Transpose::no ? b.rows : b.columns,
           bColumns = desc.b == Transpose::no ? b.columns : b.rows;
  if (aRows != m() || bRows != k() || bColumns != n())
    return fmt::format("op(A) is {} x {}, op(B) {} x {} and D {} x {}", aRows,
                       k(), bRows, bColumns, m(), n());
  bool isF64 = desc.compute == ComputeType::f64;
  bool isOfDouble = a.type == DataType::f64 && b.type == DataType::f64 &&
                    d.type == DataType::f64 && desc.scale == DataType::f64;
  bool isOfSingle = a.type == b.type && a.type != DataType::f64 &&
                    (d.type == a.type || d.type == DataType::f32) &&
                    desc.compute == ComputeType::f32 &&
                    desc.scale == DataType::f32;
  if (isF64 ? !isOfDouble : !isOfSingle)
    return fmt::format("types {}, {} and {} with compute type {} and scale {}",
                       int(a.type), int(b.type), int(d.type), int(desc.compute),
                       int(desc.scale));
  return "";
}

uint64_t MatmulShape::fingerprint() const {
  uint64_t hash = 14695981039346656037u;
  auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (int value :
       {int(desc.compute), int(desc.scale), int(desc.a), int(desc.b)})
    add(uint64_t(value));
  for (const FakeLayout *layout : {&a, &b, &c, &d})
    for (uint64_t value :
         {uint64_t(layout->type), layout->rows, layout->columns,
          uint64_t(layout->leading), uint64_t(layout->batch),
          uint64_t(layout->batchStride)})
      add(value);
  return hash;
}

} // namespace ppopt::cuda::fake
