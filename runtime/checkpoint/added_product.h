//===- added_product.h - What an export adds to a parameter -----*- C++ -*-===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_ADDED_PRODUCT_H
#define PPOPT_RUNTIME_CHECKPOINT_ADDED_PRODUCT_H

#include "checkpoint/parameter_map.h"
#include "data/safetensors.h"

#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// A scaled product of two parameters, of which rank 0 has both whole, in f64.
class ProductToAdd {
public:
  /// Called by all ranks, which send their parts of the factors.
  ProductToAdd(const ppopt_rank &rank, const AddedProduct &added);

  /// Returns a function that adds the product to the elements of a matrix of
  /// the product's shape, or of its transpose, which it is called with in their
  /// order, and passes the sums to `write`. Numbers are added in f64 and
  /// rounded once, to `type`. It throws Error for a sum that `type` does not
  /// have; `name` is that of the tensor. Valid while this is.
  WriteBytes addTo(const std::string &name, runtime::ElementType type,
                   bool isTransposed, const WriteBytes &write) const;

private:
  double at(int64_t row, int64_t column) const;

  double scale_;
  int64_t depth_, columns_, rows_;
  std::vector<double> left_, right_; ///< row-major; empty but on rank 0
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_ADDED_PRODUCT_H
