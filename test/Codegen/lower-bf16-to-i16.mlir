// RUN: ppopt opt %s --pp-lower-bf16-to-i16 --canonicalize --verify-diagnostics --split-input-file | FileCheck %s

// CHECK-LABEL: llvm.func @moves(
// CHECK-NOT: bf16
// CHECK-DAG: %[[CONSTANTS:.*]] = llvm.mlir.constant(dense<[16256, -16384]> : vector<2xi16>) : vector<2xi16>
// CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: llvm.getelementptr inbounds %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, i16
// CHECK: llvm.select %{{.*}}, %{{.*}}, %[[ONE]] : i1, i16
// CHECK: llvm.intr.masked.load {{.*}} -> vector<2xi16>
// CHECK: llvm.intr.masked.store %arg2, {{.*}} : vector<2xi16>
// CHECK-NOT: bf16
// CHECK: llvm.return
llvm.func @moves(%from: !llvm.ptr, %which: i1, %bits: vector<2xi16>, %mask: vector<2xi1>) {
  %constants = llvm.mlir.constant(dense<[1.0, -2.0]> : vector<2xbf16>) : vector<2xbf16>
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %x = llvm.load %from : !llvm.ptr -> bf16
  %to = llvm.getelementptr inbounds %from[1] : (!llvm.ptr) -> !llvm.ptr, bf16
  %chosen = llvm.select %which, %x, %one : i1, bf16
  llvm.store %chosen, %to : bf16, !llvm.ptr
  %v = llvm.intr.masked.load %from, %mask, %constants {alignment = 2 : i32} : (!llvm.ptr, vector<2xi1>, vector<2xbf16>) -> vector<2xbf16>
  llvm.store %v, %to {alignment = 2 : i64} : vector<2xbf16>, !llvm.ptr
  %y = llvm.bitcast %bits : vector<2xi16> to vector<2xbf16>
  llvm.intr.masked.store %y, %to, %mask {alignment = 2 : i32} : vector<2xbf16>, vector<2xi1> into !llvm.ptr
  llvm.return
}

// -----

llvm.func @computes(%from: !llvm.ptr, %to: !llvm.ptr) {
  %x = llvm.load %from : !llvm.ptr -> f32
  // expected-error @below {{'llvm.fptrunc' op computes in bf16, for which LLVM may call a library; compute in f32, and convert by shifts as pp-approximate-math does}}
  %y = llvm.fptrunc %x : f32 to bf16
  llvm.store %y, %to : bf16, !llvm.ptr
  llvm.return
}
