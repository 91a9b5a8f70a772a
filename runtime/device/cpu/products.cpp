//===- products.cpp - How a product is computed ---------------------------===//

#include "ppopt/products.h"

#include "device/cpu/loop_product.h"
#include "device/cpu/matmul.h"
#include "device/cpu/onednn_product.h"
#include "device/cpu/panel_product.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace ppopt {

namespace {

/// Sizes and strides may be any numbers: whether what follows can be computed
/// with them without an overflow.
bool isCountable(const ProductDescriptor &product) {
  constexpr int64_t most = int64_t(1) << 60;
  int64_t flops = 2;
  for (int64_t size :
       {product.batch[0], product.batch[1], product.m, product.n, product.k})
    if (__builtin_mul_overflow(flops, size, &flops))
      return false;
  auto reaches = [&](const std::array<int64_t, 4> &strides, int64_t rows,
                     int64_t columns) {
    const int64_t sizes[] = {product.batch[0], product.batch[1], rows, columns};
    for (int i = 0; i < 4; ++i)
      if (strides[i] > most / sizes[i])
        return false;
    return true;
  };
  return reaches(product.a, product.m, product.k) &&
         reaches(product.b, product.k, product.n) &&
         reaches(product.c, product.m, product.n);
}

/// Our panels and oneDNN count in 32 bits.
bool fits32Bits(const ProductDescriptor &product) {
  auto fits = [](const auto &numbers) {
    return *std::max_element(std::begin(numbers), std::end(numbers)) <=
           INT32_MAX;
  };
  const int64_t sizes[] = {product.m, product.n, product.k};
  return fits(sizes) && fits(product.batch) && fits(product.a) &&
         fits(product.b) && fits(product.c);
}

} // namespace

std::string invalidProduct(const ProductDescriptor &product) {
  const int64_t &b0 = product.batch[0], &b1 = product.batch[1];
  for (int64_t size : {product.m, product.n, product.k, b0, b1})
    if (size < 1)
      return "a size is less than 1";
  bool types =
      product.cType == product.type ||
      (product.type == ProductType::bf16 && product.cType == ProductType::f32);
  if (!types)
    return "C must have the type of A and B, or f32 where they are bf16";
  for (const auto *strides : {&product.a, &product.b, &product.c})
    for (int64_t stride : *strides)
      if (stride < 0)
        return "a stride is negative";
  if (!isCountable(product))
    return "sizes and strides are too large";
  if (product.n > 1 && product.c[3] != 1)
    return "C's column stride is not 1";

  // No two elements of C coincide: in the order of strides, each dimension
  // steps over all smaller ones.
  std::array<std::pair<int64_t, int64_t>, 4> dims = {
      {{product.c[0], b0},
       {product.c[1], b1},
       {product.c[2], product.m},
       {product.c[3], product.n}}};
  std::sort(dims.begin(), dims.end());
  int64_t span = 1;
  for (const auto &[stride, size] : dims)
    if (size > 1) {
      if (stride < span)
        return "elements of C coincide";
      span = stride * (size - 1) + span;
    }
  return "";
}

namespace {

/// The same product with what the strides say made plain: two batch dimensions
/// that are one become one; a batch of A over one B becomes rows; the strides
/// of dimensions of size 1, which mean nothing, become those of dense matrices.
ProductDescriptor canonical(ProductDescriptor product) {
  int64_t &b0 = product.batch[0], &b1 = product.batch[1];
  auto contiguous = [&](const std::array<int64_t, 4> &strides) {
    return strides[0] == strides[1] * b1;
  };
  auto dropOuter = [&] {
    for (auto *strides : {&product.a, &product.b, &product.c})
      (*strides)[0] = 0;
    b0 = 1;
  };
  auto swapBatches = [&] {
    std::swap(b0, b1);
    for (auto *strides : {&product.a, &product.b, &product.c})
      std::swap((*strides)[0], (*strides)[1]);
  };
  if (b1 == 1)
    swapBatches(); // now b0 is the one of size 1
  if (b0 > 1 && contiguous(product.a) && contiguous(product.b) &&
      contiguous(product.c)) {
    b1 *= b0;
    dropOuter();
  }

  if (product.m == 1)
    product.a[2] = product.a[1], product.c[2] = product.c[1];
  auto rowsOf = [&](const std::array<int64_t, 4> &strides) {
    return product.m == 1 || strides[1] == strides[2] * product.m;
  };
  if (b1 > 1 && product.b[1] == 0 && product.a[1] != 0 && rowsOf(product.a) &&
      rowsOf(product.c)) {
    product.m *= b1;
    b1 = 1;
    for (auto *strides : {&product.a, &product.b, &product.c})
      (*strides)[1] = 0;
    if (b0 > 1)
      swapBatches();
  }

  auto plain = [](std::array<int64_t, 4> &strides, int64_t rows,
                  int64_t columns) {
    if (columns == 1)
      strides[3] = 1;
    if (rows == 1)
      strides[2] = strides[3] == 1 ? columns : 1;
  };
  plain(product.a, product.m, product.k);
  plain(product.b, product.k, product.n);
  plain(product.c, product.m, product.n);
  return product;
}

std::unique_ptr<ProductImplementation>
implement(const ProductDescriptor &product, int threads,
          size_t workspaceBytes) {
  if (std::string why = invalidProduct(product); !why.empty())
    throw std::invalid_argument("matrix product: " + why);
  ProductDescriptor plain = canonical(product);
  if (!fits32Bits(plain))
    return makeLoopProduct(plain, threads);
  if (auto panels = makePanelProduct(plain, threads, workspaceBytes))
    return panels;
  if (auto library = makeOneDnnProduct(plain, threads, workspaceBytes))
    return library;
  return makeLoopProduct(plain, threads);
}

} // namespace

PreparedProduct::PreparedProduct(const ProductDescriptor &product, int threads,
                                 size_t workspaceBytes)
    : implementation(implement(product, threads, workspaceBytes)),
      flopCount(product.flops()) {}

size_t productWorkspaceBytes(const ProductDescriptor &product, int threads) {
  return implement(product, threads, SIZE_MAX)->workspaceBytes();
}

std::string productImplementation(const ProductDescriptor &product, int threads,
                                  size_t workspaceBytes) {
  return implement(product, threads, workspaceBytes)->name();
}

} // namespace ppopt
