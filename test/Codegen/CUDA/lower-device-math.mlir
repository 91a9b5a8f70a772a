// RUN: ppopt opt %s --pp-lower-device-math --split-input-file | FileCheck %s

// f32 has instructions and polynomials, f64 libclc's functions.
// CHECK-LABEL: @fast
// CHECK-NOT: math.exp
// CHECK: ex2.approx
// CHECK-NOT: arith.divf
// CHECK: rcp.approx
// CHECK: math.copysign
// CHECK: call @_Z3expd
// CHECK: arith.divf {{.*}} : f64
module {
  llvm.func @fast(%x: f32, %y: f64) -> f64 {
    %0 = math.exp %x : f32
    %1 = arith.divf %0, %x : f32
    %2 = math.tanh %1 : f32
    %3 = arith.extf %2 : f32 to f64
    %4 = math.exp %y : f64
    %5 = arith.divf %3, %4 : f64
    llvm.return %5 : f64
  }
}

// -----

// CHECK-LABEL: @accurate
// CHECK: call @_Z3expf
// CHECK: arith.divf {{.*}} : f32
// CHECK: call @_Z4tanhf
// CHECK: call @_Z3erff
// CHECK: math.copysign
// CHECK-NOT: approx
module attributes {pp.accurate_math} {
  llvm.func @accurate(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    %1 = arith.divf %0, %x : f32
    %2 = math.tanh %1 : f32
    %3 = math.erf %2 : f32
    llvm.return %3 : f32
  }
}

// -----

// Without an instruction that is right for large operands f32 has libclc's, too.
// CHECK-LABEL: @calls
// CHECK: call @_Z3sinf
// CHECK: call @_Z3cosf
// CHECK: call @_Z3powff(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: call @_Z3sind
// CHECK: call @_Z3powdd(%{{.*}}, %{{.*}}) : (f64, f64) -> f64
module {
  llvm.func @calls(%x: f32, %y: f64) -> f64 {
    %0 = math.sin %x : f32
    %1 = math.cos %0 : f32
    %2 = math.powf %1, %x : f32
    %3 = arith.extf %2 : f32 to f64
    %4 = math.sin %3 : f64
    %5 = math.powf %4, %y : f64
    llvm.return %5 : f64
  }
}
