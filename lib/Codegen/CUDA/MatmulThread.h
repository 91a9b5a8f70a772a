//===- MatmulThread.h - What a thread of a matmul does --------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_MATMULTHREAD_H
#define PPOPT_LIB_CODEGEN_CUDA_MATMULTHREAD_H

#include "DeviceThread.h"
#include "MatmulTile.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Emits the code of one thread of a block of a matmul, which follows the
/// matmul's `kernel`. The block loads tiles of A and B into shared memory and
/// multiplies them while it loads the next. A sum adds its terms in the order
/// of k; a second sum is added to C where the first has ended.
class MatmulThread : public DeviceThread {
public:
  /// `pointers`: of A, B, C.
  MatmulThread(OpBuilder &builder, GemmOp op, ValueRange pointers);
  virtual ~MatmulThread() = default;

  void emit();

protected:
  /// Emits what the thread does with neighbours of one row of its part of C.
  using Visit =
      llvm::function_ref<void(Value row, Value column, ArrayRef<Value> values)>;

  /// How many numbers of C the thread has, and their type.
  virtual int64_t countSums() const = 0;
  /// Adds the product of the tiles in shared memory, at these elements.
  virtual SmallVector<Value> multiply(Value a, Value b, ValueRange sums) = 0;
  /// Visits the sums by `cWidth` neighbours, with their place in the tile.
  virtual void visitSums(ValueRange sums, Visit visit) = 0;

  GemmOp op;
  MatmulKernelAttr kernel;
  Type element, sumType;
  StagedTile stagedA, stagedB;

private:
  struct Operand {
    MatmulOperand matrix;
    StagedTile staged;
    int64_t width;
    bool isAlongDepth;
    Value pointer;
    Value first, at; ///< the tile's first row, and that row's first element
  };
  /// Some neighbours that a thread moves: where they are in the tile.
  struct Move {
    Value row, depth;
    Value exists; ///< null: always
  };

  void placeBlock();
  void placeOperand(Operand &operand, Value batch0, Value batch1);
  SmallVector<Move> getMoves(const Operand &operand);
  Type getMoved(int64_t width);
  SmallVector<Value> load(Operand &operand, Value begin);
  void store(Operand &operand, ValueRange loaded, Value at);
  Value getBuffer(Value begin);
  void storeTiles(ValueRange loaded, Value begin);
  SmallVector<Value> loadTiles(Value begin);
  void emitSum(Value begin, Value end);
  void storeC(Value row, Value column, ArrayRef<Value> values, Value begin);

  Operand a, b;
  Value c, firstRow, firstColumn, cAt;
  int64_t tileDepth;
};

/// By multiplications and additions of f32 or f64.
std::unique_ptr<MatmulThread> createPlainMatmul(OpBuilder &builder, GemmOp op,
                                                ValueRange pointers);
/// Of bf16, by tensor cores.
std::unique_ptr<MatmulThread> createTensorMatmul(OpBuilder &builder, GemmOp op,
                                                 ValueRange pointers);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_MATMULTHREAD_H
