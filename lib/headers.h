//===- headers.h - What most of the compiler's sources include ------------===//
//
// Precompiled once a build (cmake/PpoptLLVM.cmake). No source includes it. The
// ops that models compute with are left out: new ones are added often, and then
// only the sources that use their file of ops are compiled again.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_HEADERS_H
#define PPOPT_LIB_HEADERS_H

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#endif // PPOPT_LIB_HEADERS_H
