// RUN: ppopt opt %s --pp-plan-cuda-kernels --pp-emit-cuda-kernels --split-input-file --verify-diagnostics | FileCheck %s

// The host's function is a trap. A warp has a row: the sum of its threads' neighbours, then of neighbouring threads. Of 9 rows the last of 16 is
// no row: its threads do nothing.
// CHECK-LABEL: llvm.func @rows_tiles
// CHECK-NEXT: llvm.intr.trap
// CHECK-NEXT: llvm.unreachable
// CHECK: module @device attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
// CHECK: llvm.func @rows(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %{{.*}}: !llvm.ptr {{.*}}) attributes {nvvm.kernel, nvvm.minctasm = {{[0-9]+}} : i32, nvvm.reqntid = array<i32: 256>}
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-8: arith.addf
// CHECK: scf.yield
// CHECK-COUNT-7: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: llvm.store
// CHECK: llvm.return
pp.kernel @rows(%x: tensor<9x768xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x768>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x768xf32>
  pp.return %0 : tensor<9xf32>
}

// -----

// Where rows share a warp and the last tile is not full, the threads of a row meet by themselves.
// CHECK-LABEL: llvm.func @parts_tiles
// CHECK: %[[MASK:.*]] = arith.shli %{{.*}}, %{{.*}} : i32
// CHECK: nvvm.shfl.sync bfly %[[MASK]],
pp.kernel @parts(%x: tensor<9x16xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x16>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x16xf32>
  pp.return %0 : tensor<9xf32>
}

// -----

// A block has a row: its warps meet in shared memory, after one barrier for both reductions. Shuffles of f64 are two.
// CHECK-LABEL: llvm.func @block_tiles
// CHECK-DAG: llvm.mlir.global internal @block_warps0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8 x f32>
// CHECK-DAG: llvm.mlir.global internal @block_warps1() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<8 x f64>
// CHECK: llvm.func @block
// CHECK-COUNT-15: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.return
pp.kernel @block(%x: tensor<2x4096xf32>, %y: tensor<2x4096xf64>) -> (tensor<2xf32>, tensor<2xf64>) attributes {form = #pp.form<rows 2x4096>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<2x4096xf32>
  %1 = pp.reduce max %y [1] {pp.sweep = 0 : i64} : tensor<2x4096xf64>
  pp.return %0, %1 : tensor<2xf32>, tensor<2xf64>
}

// -----

// A buffer of 2^31 elements has indices of 64 bits.
// CHECK-LABEL: llvm.func @large_tiles
// CHECK-NOT: module @device attributes
// CHECK: module @device_wide attributes {dlti.dl_spec = #dlti.dl_spec<index = 64 : i64>}
// CHECK-NEXT: llvm.func @large
pp.kernel @large(%x: tensor<65536x32768xbf16>) -> (tensor<65536x32768xbf16> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 65536x32768>} {
  %0 = pp.tanh %x : tensor<65536x32768xbf16>
  pp.return %0 : tensor<65536x32768xbf16>
}

// -----

// So have look-ups by 64-bit ids, which are compared with the table's size.
// CHECK-LABEL: llvm.func @ids_tiles
// CHECK-NOT: module @device attributes
// CHECK: module @device_wide
// CHECK-NEXT: llvm.mlir.global external @ppopt_shared
// CHECK-NEXT: llvm.func @ids
pp.kernel @ids(%i: tensor<8xi64>, %d: tensor<8x96xf32>) -> tensor<16x96xf32> attributes {form = #pp.form<scatter 8x96>} {
  %0 = pp.embedding_grad %i, %d : tensor<8xi64>, tensor<8x96xf32> to tensor<16x96xf32>
  pp.return %0 : tensor<16x96xf32>
}

// -----

// CHECK-LABEL: llvm.func @attention_tiles
pp.kernel @attention(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x2xf32>) attributes {form = #pp.form<attention 2x4x16x8>} {
  %0:2 = pp.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>
  pp.return %0#0, %0#1 : tensor<2x4x16x8xf32>, tensor<2x4x16x2xf32>
}
// A tile of queries takes tiles of keys: S, then P V. The threads of a row meet in the warp, those of a tile in the block.
// CHECK: llvm.mlir.global external @ppopt_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @attention(
// CHECK: scf.for {{.*}} iter_args
// CHECK: nvvm.barrier0
// CHECK: nvvm.barrier0
// CHECK: math.fma
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: nvvm.bar.warp.sync
// CHECK: math.fma
// CHECK: math.log

// -----

// A block has keys, and adds up dK and dV, or queries, and adds up dQ: seven matmuls.
// CHECK-LABEL: llvm.func @gradient_tiles
// CHECK: llvm.func @gradient(
// CHECK: scf.if
// CHECK: nvvm.bar.warp.sync
// CHECK: } else {
// CHECK: nvvm.bar.warp.sync
!x = tensor<2x4x16x8xf64>
!l = tensor<2x4x16x2xf64>
pp.kernel @gradient(%q: !x, %k: !x, %v: !x, %o: !x, %l: !l, %d: !x) -> (!x, !x, !x) attributes {form = #pp.form<attention_grad 2x4x16x8>} {
  %0:3 = pp.attention_grad %q, %k, %v, %o, %l, %d {causal} : !x, !x, !x, !x, !l
  pp.return %0#0, %0#1, %0#2 : !x, !x, !x
}

// -----

// bf16. S of 16 keys are two products for each fragment of rows; P, rounded, is an operand of
// the next, whose other operand is transposed. Keys that all queries see come first, without a mask.
// CHECK-LABEL: llvm.func @tensor_cores_tiles
// CHECK: llvm.func @tensor_cores(
// CHECK: nvvm.barrier0
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: scf.for
// CHECK-NOT: arith.select
// CHECK: nvvm.mma.sync {{.*}}#nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: arith.truncf {{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK: nvvm.mma.sync
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// CHECK: arith.select
pp.kernel @tensor_cores(%q: tensor<2x4x100x64xbf16>, %k: tensor<2x4x100x64xbf16>, %v: tensor<2x4x100x64xbf16>) -> (tensor<2x4x100x64xbf16>, tensor<2x4x100x2xf32>) attributes {form = #pp.form<attention 2x4x100x64>} {
  %0:2 = pp.attention %q, %k, %v {causal} : tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>
  pp.return %0#0, %0#1 : tensor<2x4x100x64xbf16>, tensor<2x4x100x2xf32>
}

// -----

// Scores that are changed, then hidden: the cap, the slope's part by the key's position less the query's, the bias, and what position, window and mask
// say. A row that sees no key has a sum of zero. Head h reads the keys of head h / 2.
// CHECK-LABEL: llvm.func @changed_tiles
// CHECK: llvm.func @changed(
// CHECK: %[[HEAD:.*]] = arith.remui %{{.*}}, %c4
// CHECK: arith.divui %[[HEAD]], %c2
// CHECK: scf.for {{.*}} iter_args
// CHECK: %[[TANH:.*]] = math.tanh
// CHECK: %[[CAPPED:.*]] = arith.mulf %[[TANH]]
// CHECK: %[[DISTANCE:.*]] = arith.sitofp
// CHECK: %[[SLOPED:.*]] = math.fma %{{.*}}, %[[DISTANCE]], %[[CAPPED]]
// CHECK: %[[SCORE:.*]] = arith.addf %[[SLOPED]]
// CHECK: arith.select %{{.*}}, %[[SCORE]], %cst
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq
// CHECK: arith.select %[[EMPTY]]
// CHECK: math.log
// CHECK: arith.cmpf oeq
pp.kernel @changed(%q: tensor<1x4x33x8xf32>, %k: tensor<1x2x40x8xf32>, %v: tensor<1x2x40x8xf32>, %b: tensor<1x1x33x40xf32>, %m: tensor<1x1x1x40xi1>,
    %s: tensor<4xf32>) -> (tensor<1x4x33x8xf32>, tensor<1x4x33x2xf32>) attributes {form = #pp.form<attention 1x4x33x8>} {
  %0:2 = pp.attention %q, %k, %v bias %b mask %m slopes %s {causal, window = 20 : i64, soft_cap = 2.0 : f64}
      : tensor<1x4x33x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x1x33x40xf32>, tensor<1x1x1x40xi1>, tensor<4xf32>
  pp.return %0#0, %0#1 : tensor<1x4x33x8xf32>, tensor<1x4x33x2xf32>
}

// -----

// A block of keys finds the queries of its segments, and takes the two heads of its group in turn. A block of queries also stores the gradient of the
// bias: zeros for keys that it leaves out.
// CHECK-LABEL: llvm.func @groups_tiles
// CHECK: llvm.func @groups(
// CHECK: scf.if
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: nvvm.barrier0
// CHECK: scf.for {{.*}} %c2{{[_0-9]*}} step
// CHECK: nvvm.mma.sync
// CHECK: arith.cmpi eq
// CHECK: } else {
// CHECK: nvvm.mma.sync
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK: arith.maxui
// CHECK: llvm.store %cst{{.*}} : f32, !llvm.ptr
// CHECK: llvm.store %cst{{.*}} : f32, !llvm.ptr
!q = tensor<2x4x100x64xbf16>
!k = tensor<2x2x100x64xbf16>
!l = tensor<2x4x100x2xf32>
!p = tensor<2x4x100x100xf32>
pp.kernel @groups(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %d: !q, %b: tensor<1x4x1x100xf32>, %g: tensor<2x100xi32>) -> (!q, !k, !k, !p)
    attributes {form = #pp.form<attention_grad 2x4x100x64>} {
  %0:4 = pp.attention_grad %q, %k, %v, %o, %l, %d bias %b segments %g : !q, !k, !k, !q, !l bias tensor<1x4x1x100xf32> segments tensor<2x100xi32> -> !p
  pp.return %0#0, %0#1, %0#2, %0#3 : !q, !k, !k, !p
}

// -----

// Of 512 threads 8 have a row of the tile, each takes every 64th: sums of the 4 threads of a warp by shuffles, of the 16 warps in shared memory.
// Columns 96 to 103 are none.
// CHECK-LABEL: llvm.func @columns_tiles
// CHECK: llvm.mlir.global internal @columns_warps0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<128 x f32>
// CHECK: llvm.func @columns(
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.for
// CHECK: } else {
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: nvvm.barrier0
// CHECK-COUNT-15: arith.addf
// CHECK: llvm.store
pp.kernel @columns(%x: tensor<8192x99xf32>) -> tensor<99xf32> attributes {form = #pp.form<columns 8192x99>} {
  %0 = pp.reduce sum %x [0] : tensor<8192x99xf32>
  pp.return %0 : tensor<99xf32>
}

// -----

// The position's rows go into the caches, which all read after the barrier. A group of 4 threads has a key: its score is summed in the group. Then
// the groups of the warp meet, and the warps in shared memory. The position has 32 bits, as other indices. (Kernels without launches have no buffers
// in place: the task's does.)
// CHECK-LABEL: llvm.func @step_tiles
// CHECK: module @device attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
// CHECK: llvm.func @step(
// CHECK: %[[POSITION:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: arith.trunci %[[POSITION]] : i64 to i32
// CHECK: scf.for
// CHECK: %[[TO:.*]] = llvm.getelementptr inbounds %arg2
// CHECK: llvm.store %{{.*}}, %[[TO]]
// CHECK: scf.for
// CHECK: %[[TO:.*]] = llvm.getelementptr inbounds %arg3
// CHECK: llvm.store %{{.*}}, %[[TO]]
// CHECK: nvvm.barrier0
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: scf.yield
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK: arith.divf
!row = tensor<1x3x1x32xf32>
!cache = tensor<1x3x64x32xf32>
pp.task forward stage 0 @generate(%x: !row {pp.role = #pp.role<input, "x">}, %at: tensor<1xi64> {pp.role = #pp.role<input, "position">},
    %k: !cache {pp.role = #pp.role<cache, "cache0">}, %v: !cache {pp.role = #pp.role<cache, "cache1">})
    -> (!row {pp.role = #pp.role<output, "logits">}, !cache {pp.role = #pp.role<cache, "cache0">}, !cache {pp.role = #pp.role<cache, "cache1">}) {
  %o, %ka, %va = pp.launch @step ins(%x, %at, %k, %v : !row, tensor<1xi64>, !cache, !cache) outs() {inplace = array<i64: -1, 2, 3>} -> !row, !cache, !cache
  pp.return %o, %ka, %va : !row, !cache, !cache
}
pp.kernel @step(%x: !row, %at: tensor<1xi64>, %k: !cache, %v: !cache) -> (!row, !cache, !cache) attributes {form = #pp.form<attention_step 1x3x1x32>} {
  %o, %ka, %va = pp.attention_step %x, %x, %x cache %k, %v at %at {scale = 0.5 : f64} : !row, !row, !row, !cache, !cache, tensor<1xi64>
  pp.return %o, %ka, %va : !row, !cache, !cache
}
