// RUN: ppopt opt %s --pass-pipeline='builtin.module(pp-convert-kernels,pp-call-math-library)' | FileCheck %s

// Functions without an intrinsic are left for the C library.
// CHECK: llvm.func @erf(f64) -> f64
// CHECK-LABEL: llvm.func @k(
// CHECK-NOT: unrealized_conversion_cast
// CHECK: %[[LOADED:.*]] = llvm.load
// CHECK: %[[EXP:.*]] = llvm.intr.exp(%[[LOADED]]) : (vector<4xf64>) -> vector<4xf64>
// CHECK: llvm.br ^[[LOOP:.*]](%{{.*}} : i64)
// CHECK: ^[[LOOP]](%[[I:.*]]: i64):
// CHECK: llvm.icmp "slt" %[[I]]
// CHECK: llvm.fadd %[[EXP]], %[[EXP]]
// CHECK: llvm.extractelement
// CHECK: llvm.call @erf(%{{.*}}) : (f64) -> f64
// CHECK-NOT: {{arith|math|vector|cf}}.
// CHECK: llvm.return
llvm.func @k(%p: !llvm.ptr, %q: !llvm.ptr) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %x = llvm.load %p : !llvm.ptr -> vector<4xf64>
  %e = math.exp %x : vector<4xf64>
  cf.br ^loop(%zero : index)
^loop(%i: index):
  %more = arith.cmpi slt, %i, %four : index
  cf.cond_br %more, ^body, ^end
^body:
  %sum = arith.addf %e, %e : vector<4xf64>
  %first = vector.extract %sum[0] : f64 from vector<4xf64>
  %t = math.erf %first : f64
  llvm.store %t, %q : f64, !llvm.ptr
  %next = arith.addi %i, %one : index
  cf.br ^loop(%next : index)
^end:
  llvm.return
}

// Loops become branches.
// CHECK-LABEL: llvm.func @loop(
// CHECK-NOT: scf.
// CHECK: llvm.cond_br
// CHECK: llvm.store
llvm.func @loop(%x: f64, %q: !llvm.ptr) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    llvm.store %x, %q : f64, !llvm.ptr
  }
  llvm.return
}
