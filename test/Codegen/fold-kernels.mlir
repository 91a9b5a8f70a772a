// RUN: ppopt opt %s --pass-pipeline='builtin.module(llvm.func(pp-fold-kernels{dialects=scf,arith}))' | FileCheck %s
// RUN: ppopt opt %s --pass-pipeline='builtin.module(llvm.func(pp-fold-kernels{dialects=arith}))' | FileCheck %s --check-prefix=ARITH

// The patterns are those of the dialects alone: a branch that only chooses becomes a select.
// CHECK-LABEL: llvm.func @choose(
// CHECK-NOT: scf.if
// CHECK: arith.select
// ARITH: scf.if
llvm.func @choose(%c: i1, %x: f64, %y: f64) -> f64 {
  %z = scf.if %c -> f64 {
    scf.yield %x : f64
  } else {
    scf.yield %y : f64
  }
  llvm.return %z : f64
}
