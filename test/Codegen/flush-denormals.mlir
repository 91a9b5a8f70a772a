// RUN: ppopt opt %s --pp-flush-denormals | FileCheck %s
// RUN: sed 's/denormals = "flush", //' %s | ppopt opt --pp-flush-denormals | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: denormal_fp_math = "preserve-sign,preserve-sign"
// CHECK: llvm.func internal @flush_denormals() attributes {{.*}}no_inline, optimize_none
// CHECK: llvm.call_intrinsic "llvm.x86.sse.stmxcsr"(%[[AT:.*]]) :
// CHECK: %[[OLD:.*]] = llvm.load %[[AT]]
// CHECK: %[[BITS:.*]] = llvm.mlir.constant(32832 : i32)
// CHECK: %[[NEW:.*]] = llvm.or %[[OLD]], %[[BITS]]
// CHECK: llvm.store %[[NEW]], %[[AT]]
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[AT]])
// CHECK: llvm.mlir.global_ctors ctors = [@flush_denormals]

// KEEP-NOT: denormal
module {
  pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", denormals = "flush", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
  llvm.func @kernel(%x: f32) -> f32 {
    llvm.return %x : f32
  }
}
