//===- InstructionCode.h - A kernel for each approximate instruction ------===//

#ifndef PPOPT_TEST_DEVICE_INSTRUCTIONCODE_H
#define PPOPT_TEST_DEVICE_INSTRUCTIONCODE_H

#include "ppopt/Codegen/Target.h"

#include "llvm/Support/Error.h"

namespace emulated {

struct InstructionCode {
  mlir::pp::DeviceImages images;
  std::string ir; ///< as --save-device-ir writes it
};

/// Compiles kernels that compute one instruction each, of arrays
/// (test/gpu/kernels/instructions.h).
llvm::Expected<InstructionCode> compileInstructions(llvm::StringRef gpu,
                                                    llvm::StringRef stem);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_INSTRUCTIONCODE_H
