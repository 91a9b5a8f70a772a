//===- CountTarget.cpp - A target that counts kernels ---------------------===//
//
// Shows that Target suffices: no other file of the compiler knows of it.
//
//===----------------------------------------------------------------------===//

#include "CountTarget.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::pp;

/// The listing, an attribute of a module of phase native.
static constexpr StringLiteral kListing = "count.listing";

namespace {

/// Sets tiles: one row, all columns, all queries of a head, or one head.
struct PlanKernels : PassWrapper<PlanKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanKernels)

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      kernel.setTilesAttr(plan(kernel, kernel.getFormAttr()));
  }

  static TilesAttr plan(KernelOp kernel, FormAttr form) {
    auto make = [&](int64_t count, int64_t size, TileUnit unit) {
      return TilesAttr::get(kernel.getContext(), count, size, unit,
                            /*block=*/0);
    };
    ArrayRef<int64_t> sizes = form.getSizes();
    if (KernelFormOpInterface op = kernel.getFormOp()) {
      int64_t queries = sizes.size() > 2 ? sizes[2] : 1;
      std::pair<int64_t, TileUnit> choices[] = {
          {1, TileUnit::Heads},
          {queries, TileUnit::Queries},
          {sizes.back(), TileUnit::Columns}};
      for (auto [size, unit] : choices)
        if (auto count = op.countTiles(make(1, size, unit)))
          return make(*count, size, unit);
      llvm_unreachable("every form has tiles of one of these units");
    }
    if (form.getKind() == KernelForm::Rows)
      return make(form.getRows(), 1, TileUnit::Rows);
    ReduceOp reduce = *kernel.getBody().getOps<ReduceOp>().begin();
    return make(cast<RankedTensorType>(reduce.getType()).getNumElements() /
                    form.getColumns(),
                form.getColumns(), TileUnit::Columns);
  }
};

/// Lists the kernels, and declares what tasks launch.
struct ListKernels : PassWrapper<ListKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListKernels)

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {});
    std::string listing;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      TilesAttr tiles = kernel.getTilesAttr();
      listing += llvm::formatv(
          "{0}: {1}, {2} tiles of {3} {4}\n", kernel.getSymName(),
          stringifyKernelForm(kernel.getFormAttr().getKind()), tiles.getCount(),
          tiles.getSize(), stringifyTileUnit(tiles.getUnit()));
      LLVM::LLVMFuncOp::create(builder, kernel.getLoc(),
                               (kernel.getSymName() + "_tiles").str(), type);
    }
    getOperation()->setAttr(kListing, builder.getStringAttr(listing));
  }
};

class CountTarget : public Target {
public:
  StringRef getName() const override { return "count"; }
  StringRef getSummary() const override { return "a listing of kernels"; }

  SmallVector<StringRef> getCpus() const override { return {"abacus"}; }
  void setNative(Machine &machine) const override { machine.cpu = "abacus"; }
  std::string getLackForBF16(const Machine &machine) const override {
    return "no bf16 beads";
  }

  void addPlanKernels(OpPassManager &manager,
                      const Machine &machine) const override {
    manager.addPass(std::make_unique<PlanKernels>());
  }
  std::string
  checkMatmul(const ::ppopt::MatmulDescriptor &matmul) const override {
    return matmul.k > 1000 ? "it has more than 1000 terms" : "";
  }
  int64_t getMatmulWorkspace(const ::ppopt::MatmulDescriptor &matmul,
                             int64_t threads) const override {
    return 0;
  }

  void addNativePasses(OpPassManager &manager, const Machine &machine,
                       std::unique_ptr<Pass> emitTasks) const override {
    manager.addPass(std::make_unique<ListKernels>());
    manager.addPass(std::move(emitTasks));
  }
  LogicalResult writeExecutable(ArrayRef<NativeProgram> programs,
                                const Machine &machine, StringRef prefix,
                                StringRef path) const override {
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    if (error)
      return failure();
    file << "on " << machine.threads << " " << machine.cpu << ":\n";
    for (NativeProgram program : programs)
      if (auto listing = program.module->getAttrOfType<StringAttr>(kListing))
        file << program.prefix << "\n" << listing.getValue();
    return success();
  }
};

} // namespace

std::unique_ptr<Target> pp::createCountTarget() {
  return std::make_unique<CountTarget>();
}
