//===- InstructionCode.cpp - A kernel for each approximate instruction ----===//

#include "InstructionCode.h"

#include "KernelModule.h"
#include "instructions.h"

#include "ppopt/Driver/Compile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace emulated;
using ::ppopt::gpu::Instruction;

/// Returns a kernel as text.
static std::string makeKernel(const Instruction &instruction) {
  bool hasTwo = instruction.operands == 2;
  std::string text;
  llvm::raw_string_ostream out(text);
  auto load = [&](StringRef name) {
    out << llvm::formatv(
        "%p{0} = llvm.getelementptr %a{0}[%i] : (!llvm.ptr, i32) -> !llvm.ptr, "
        "f32\n%{0} = llvm.load %p{0} : !llvm.ptr -> f32\n",
        name);
  };
  out << "llvm.func @" << kernelOf(instruction) << "(%ax: !llvm.ptr, "
      << (hasTwo ? "%ay: !llvm.ptr, " : "") << "%az: !llvm.ptr) attributes {"
      << "nvvm.kernel, nvvm.reqntid = array<i32: "
      << ::ppopt::gpu::threadsOfInstruction << ">} {\n"
      << "%block = nvvm.read.ptx.sreg.ctaid.x : i32\n"
      << "%threads = llvm.mlir.constant(" << ::ppopt::gpu::threadsOfInstruction
      << " : i32) : i32\n"
      << "%first = llvm.mul %block, %threads : i32\n"
      << "%thread = nvvm.read.ptx.sreg.tid.x : i32\n"
      << "%i = llvm.add %first, %thread : i32\n";
  load("x");
  if (hasTwo)
    load("y");
  out << "%z = " << instruction.operation << "\n"
      << "%pz = llvm.getelementptr %az[%i] : (!llvm.ptr, i32) -> !llvm.ptr, "
         "f32\nllvm.store %z, %pz : f32, !llvm.ptr\nllvm.return\n}\n";
  return text;
}

llvm::Expected<InstructionCode> emulated::compileInstructions(StringRef gpu,
                                                              StringRef stem) {
  DialectRegistry registry;
  pp::registerCompilerDialects(registry);
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Messages messages(context);
  std::string text = "module @device {\n";
  for (const Instruction &each : ::ppopt::gpu::listInstructions())
    text += makeKernel(each);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>("module {\n" + text + "}\n}\n", &context);
  if (!module)
    return messages.take("the instructions can't be read");
  const pp::Target *target = pp::findTarget("cuda");
  pp::Machine machine;
  machine.name = target->getName().str();
  target->setNative(machine);
  machine.gpu = gpu.str();
  InstructionCode code;
  llvm::raw_string_ostream ir(code.ir);
  if (failed(target->printDeviceIR(*module, machine, ir)))
    return messages.take("the instructions have no LLVM IR");
  auto images = target->takeDeviceCode(*module, machine, stem);
  if (failed(images))
    return messages.take("the instructions can't be compiled");
  code.images = *images;
  for (const Instruction &each : ::ppopt::gpu::listInstructions())
    if (!StringRef(code.images.text).contains(each.name + std::string(" ")) &&
        !StringRef(code.images.text).contains(each.name + std::string("\t")))
      return llvm::createStringError(StringRef("no kernel has become ") +
                                     each.name);
  return code;
}
