// RUN: ppopt opt %s --pp-plan-arena --pp-verify-kernels --pp-emit-kernels --pp-emit-tasks --canonicalize > %t
// RUN: FileCheck %s --input-file=%t
// RUN: %python %S/Inputs/sorted_program.py < %t | FileCheck %s --check-prefix=JSON

// Collectives of tasks have numbers in the program: the backward's follow the forward's.
// CHECK-LABEL: llvm.func @s0_F(
// CHECK-SAME: %[[RANK:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[TEMPS:.*]]: !llvm.ptr)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(256 : i64)
// CHECK-DAG: %[[C0:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: %[[CHUNK:.*]] = llvm.load %[[ARGS]]
// CHECK-NEXT: llvm.call @ppopt_start(%[[RANK]], %[[C0]], %[[CHUNK]], %[[TEMPS]], %[[NULL]])
// CHECK-NEXT: llvm.call @ppopt_wait(%[[RANK]], %[[C0]])
// CHECK: llvm.call @ppopt_launch
// CHECK-NEXT: llvm.call @ppopt_release(%[[RANK]], %[[TEMPS]], %[[BYTES]])
// CHECK-NEXT: llvm.return

// Addresses are those of arguments, temporaries and views of them. Only an all-reduce has scratch memory.
// CHECK-LABEL: llvm.func @s0_B(
// CHECK-SAME: %[[RANK:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[TEMPS:.*]]: !llvm.ptr)
// CHECK-DAG: %[[BYTES:.*]] = llvm.mlir.constant(256 : i64)
// CHECK-DAG: %[[C1:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-DAG: %[[C2:.*]] = llvm.mlir.constant(2 : i32)
// CHECK-DAG: %[[C3:.*]] = llvm.mlir.constant(3 : i32)
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: %[[SCRATCH:.*]] = llvm.getelementptr %[[TEMPS]][320]
// CHECK-NEXT: %[[X:.*]] = llvm.load %[[ARGS]]
// CHECK-NEXT: %[[H:.*]] = llvm.getelementptr %[[TEMPS]][64]
// CHECK-NEXT: llvm.call @ppopt_start(%[[RANK]], %[[C1]], %[[X]], %[[H]], %[[SCRATCH]])
// CHECK-NEXT: llvm.call @ppopt_wait(%[[RANK]], %[[C1]])
// CHECK: llvm.call @ppopt_launch
// CHECK-NEXT: %[[V:.*]] = llvm.getelementptr %[[TEMPS]][704]
// CHECK-NEXT: %[[R:.*]] = llvm.getelementptr %[[TEMPS]][320]
// CHECK-NEXT: llvm.call @ppopt_start(%[[RANK]], %[[C2]], %[[V]], %[[R]], %[[NULL]])
// CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %[[ARGS]][16]
// CHECK-NEXT: %[[P:.*]] = llvm.load %[[AT]]
// CHECK-NEXT: %[[W:.*]] = llvm.getelementptr %[[TEMPS]][64]
// CHECK-NEXT: llvm.call @ppopt_start(%[[RANK]], %[[C3]], %[[P]], %[[W]], %[[NULL]])
// CHECK-NEXT: llvm.call @ppopt_wait(%[[RANK]], %[[C2]])
// CHECK-NEXT: llvm.call @ppopt_wait(%[[RANK]], %[[C3]])
// CHECK-NEXT: %[[W:.*]] = llvm.getelementptr %[[TEMPS]][64]
// CHECK-NEXT: llvm.call @ppopt_release(%[[RANK]], %[[W]], %[[BYTES]])
// CHECK-NEXT: llvm.return

// The document has them in the order of their numbers. Bytes of a run count with each run: 128 of the forward; 256, 128 and 128 of the backward.
// JSON: "collectives":[{"axes":["dp"],"channel":1,"elements":64,"name":"b0","op":"all_gather","task":0,"type":"f32"},
// JSON-NEXT: {"axes":["tp"],"channel":3,"elements":64,"name":"h","op":"all_reduce","task":1,"type":"f32"},
// JSON-NEXT: {"axes":["dp"],"channel":2,"elements":64,"name":"b0","op":"reduce_scatter","task":1,"type":"f32"},
// JSON-NEXT: {"axes":["dp"],"channel":1,"elements":64,"name":"b0","op":"all_gather","task":1,"type":"f32"}],
// JSON: "parameters":[{"gradient":448,"offset":320,"parameter":0,"shard":{"axes":["dp"],"elements":64,"first":0,"of":"parameters"}
// JSON: "predicted":{"bytes_sent":640,
pp.plan {zero = 3 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task forward stage 0 @s0_F(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %l: memref<f32> {pp.role = #pp.role<loss, "loss">}, %s: memref<64xf32>)
    attributes {temp_bytes = 256 : i64, collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>]} {
  %w = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.launch @copy ins(%w : memref<64xf32>) outs(%s : memref<64xf32>) {inplace = array<i64: -1>}
  pp.release %w : memref<64xf32>
  pp.return
}
pp.task backward stage 0 @s0_B(%x: memref<64xf32>, %c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">}, %p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">})
    attributes {temp_bytes = 1024 : i64, collectives = [#pp.task_collective<<all_reduce> over <["tp"]> channel 3 "h" of 64 x f32>, #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>,
    #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>]} {
  %h = pp.temp 64 : memref<64xf32>
  %k = pp.temp 320 : memref<32xf32>
  pp.begin 0 all_reduce %x outs(%h, %k : memref<64xf32>, memref<32xf32>) : memref<64xf32>
  %t = pp.temp 448 : memref<128xf32>
  %v = memref.reinterpret_cast %t to offset: [64], sizes: [64], strides: [1] : memref<128xf32> to memref<64xf32, strided<[1], offset: 64>>
  pp.finish 0
  pp.launch @copy ins(%h : memref<64xf32>) outs(%v : memref<64xf32, strided<[1], offset: 64>>) {inplace = array<i64: -1>}
  %r = pp.temp 320 : memref<32xf32>
  pp.begin 1 reduce_scatter %v outs(%r : memref<32xf32>) : memref<64xf32, strided<[1], offset: 64>>
  %w = pp.temp 64 : memref<64xf32>
  pp.begin 2 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  pp.finish 1
  pp.finish 2
  pp.release %w : memref<64xf32>
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<64xf32>
  pp.call @s0_B(%0) : (tensor<64xf32>) -> ()
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.zero
  %v0 = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<64xf32>
  pp.run @s0_B microbatch 0 (%v0) : (tensor<64xf32>) -> ()
}
