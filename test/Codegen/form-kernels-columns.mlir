// RUN: ppopt opt %s --pp-form-kernels --split-input-file | FileCheck %s

// The gradients of a layer norm's gain and bias are sums over rows. Their kernel computes the product that the gain's sum alone reads, from what is in memory
// and from values per row, and reads dy once.
// CHECK-LABEL: pp.task backward stage 0 @layer_norm
// CHECK-NEXT: %[[DX:.*]]:3 = pp.launch @reduce_sub_rsqrt_mul_64x32 ins(%arg0, %arg1 : {{.*}}) outs() {inplace = array<i64: -1, -1, -1>} -> tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x32xf32>
// CHECK-NEXT: %[[SUMS:.*]]:2 = pp.launch @reduce_accumulate_sub_mul_64x32 ins(%arg1, %arg2, %arg0, %[[DX]]#0, %[[DX]]#1, %arg3 : {{.*}}) outs() {inplace = array<i64: 1, 5>}
// CHECK-NEXT: pp.return %[[DX]]#2, %[[SUMS]]#0, %[[SUMS]]#1
// CHECK: pp.kernel @reduce_accumulate_sub_mul_64x32({{.*}}) -> (tensor<32xf32>, tensor<32xf32>) attributes {form = #pp.form<columns 64x32>}
pp.task backward stage 0 @layer_norm(%x: tensor<64x32xf32>, %dy: tensor<64x32xf32>,
    %gb: tensor<32xf32> {pp.role = #pp.role<grad, "b">}, %gg: tensor<32xf32> {pp.role = #pp.role<grad, "g">})
    -> (tensor<64x32xf32>, tensor<32xf32> {pp.role = #pp.role<grad, "b">}, tensor<32xf32> {pp.role = #pp.role<grad, "g">}) {
  %bias = pp.reduce sum %dy [0] : tensor<64x32xf32>
  %b = pp.accumulate %gb, %bias : tensor<32xf32>
  %mean = pp.reduce max %x [1] {keep_dims} : tensor<64x32xf32>
  %centred = pp.sub %x, %mean : tensor<64x32xf32>, tensor<64x1xf32>
  %variance = pp.reduce sum %centred [1] {keep_dims} : tensor<64x32xf32>
  %scale = pp.rsqrt %variance : tensor<64x1xf32>
  %normal = pp.mul %centred, %scale : tensor<64x32xf32>, tensor<64x1xf32>
  %product = pp.mul %dy, %normal : tensor<64x32xf32>, tensor<64x32xf32>
  %gain = pp.reduce sum %product [0] : tensor<64x32xf32>
  %g = pp.accumulate %gg, %gain : tensor<32xf32>
  %dx = pp.sub %dy, %normal : tensor<64x32xf32>, tensor<64x32xf32>
  pp.return %dx, %b, %g : tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// Ops that nothing else reads move there. Reshapes that drop dimensions of size 1, and casts of narrower values, may be in between.
// CHECK-LABEL: pp.task backward stage 0 @moved
// CHECK-NOT: pp.launch
// CHECK: pp.launch @mul_cast_reduce_accumulate_6x8 ins(%arg0, %arg1, %arg2 : {{.*}}) outs() {inplace = array<i64: 2>}
// CHECK-NEXT: pp.return
pp.task backward stage 0 @moved(%x: tensor<1x6x8xbf16>, %y: tensor<1x6x8xbf16>,
    %gb: tensor<8xf32> {pp.role = #pp.role<grad, "b">}) -> (tensor<8xf32> {pp.role = #pp.role<grad, "b">}) {
  %0 = pp.mul %x, %y : tensor<1x6x8xbf16>, tensor<1x6x8xbf16>
  %1 = pp.reshape %0 : tensor<1x6x8xbf16> to tensor<6x8xbf16>
  %2 = pp.cast %1 : tensor<6x8xbf16> to tensor<6x8xf32>
  %3 = pp.reduce sum %2 [0] : tensor<6x8xf32>
  %4 = pp.accumulate %gb, %3 : tensor<8xf32>
  pp.return %4 : tensor<8xf32>
}

// -----

// Functions stay in kernels of rows.
// CHECK-LABEL: pp.task backward stage 0 @function
// CHECK-NEXT: %[[Y:.*]] = pp.launch @exp_64x32
// CHECK-NEXT: pp.launch @reduce_accumulate_64x32 ins(%[[Y]]
pp.task backward stage 0 @function(%x: tensor<64x32xf32>, %gb: tensor<32xf32> {pp.role = #pp.role<grad, "b">})
    -> (tensor<32xf32> {pp.role = #pp.role<grad, "b">}) {
  %0 = pp.exp %x : tensor<64x32xf32>
  %1 = pp.reduce sum %0 [0] : tensor<64x32xf32>
  %2 = pp.accumulate %gb, %1 : tensor<32xf32>
  pp.return %2 : tensor<32xf32>
}

// -----

// What a matmul reads is in memory anyway.
// CHECK-LABEL: pp.task backward stage 0 @written
// CHECK-NEXT: %[[Y:.*]] = pp.launch @mul_8x8
// CHECK-NEXT: pp.launch @reduce_accumulate_8x8 ins(%[[Y]]
// CHECK-NEXT: pp.matmul
pp.task backward stage 0 @written(%x: tensor<8x8xf32>, %gb: tensor<8xf32> {pp.role = #pp.role<grad, "b">})
    -> (tensor<8x8xf32>, tensor<8xf32> {pp.role = #pp.role<grad, "b">}) {
  %0 = pp.mul %x, %x : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = pp.reduce sum %0 [0] : tensor<8x8xf32>
  %2 = pp.accumulate %gb, %1 : tensor<8xf32>
  %3 = pp.matmul %0, %x : tensor<8x8xf32>, tensor<8x8xf32>
  pp.return %3, %2 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// As many bytes are moved either way: two arrays are read here, or one is written and read, as the kernel of the rows reads both anyway.
// CHECK-LABEL: pp.task backward stage 0 @bytes
// CHECK-NEXT: %[[Y:.*]]:2 = pp.launch @mul_reduce_8x8 ins(%arg0, %arg1
// CHECK-NEXT: pp.launch @reduce_accumulate_8x8 ins(%[[Y]]#0
pp.task backward stage 0 @bytes(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>,
    %gb: tensor<8xf32> {pp.role = #pp.role<grad, "b">}) -> (tensor<8xf32>, tensor<8xf32> {pp.role = #pp.role<grad, "b">}) {
  %0 = pp.mul %x, %y : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = pp.reduce sum %0 [1] : tensor<8x8xf32>
  %2 = pp.reduce sum %0 [0] : tensor<8x8xf32>
  %3 = pp.accumulate %gb, %2 : tensor<8xf32>
  pp.return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// -----

// What a sum reads in addition counts twice: dy, for the scaled product of an RMS norm's gain.
// CHECK-LABEL: pp.task backward stage 0 @twice
// CHECK-NEXT: %[[Y:.*]]:2 = pp.launch @cast_mul_reduce_8x8 ins(%arg0, %arg1
// CHECK-NEXT: pp.launch @reduce_accumulate_8x8 ins(%[[Y]]#0
pp.task backward stage 0 @twice(%x: tensor<8x8xf32>, %dy: tensor<8x8xbf16>,
    %gb: tensor<8xf32> {pp.role = #pp.role<grad, "b">}) -> (tensor<8xf32>, tensor<8xf32> {pp.role = #pp.role<grad, "b">}) {
  %0 = pp.cast %dy : tensor<8x8xbf16> to tensor<8x8xf32>
  %1 = pp.mul %x, %0 : tensor<8x8xf32>, tensor<8x8xf32>
  %2 = pp.reduce sum %1 [1] : tensor<8x8xf32>
  %3 = pp.reduce sum %1 [0] : tensor<8x8xf32>
  %4 = pp.accumulate %gb, %3 : tensor<8xf32>
  pp.return %2, %4 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A result overwrites an argument only if no other kernel reads it.
// CHECK-LABEL: pp.task update stage 0 @overwritten
// CHECK-NEXT: %[[Y:.*]]:2 = pp.launch @mul_sub_8x8 ins(%arg0 : {{.*}}) outs() {inplace = array<i64: -1, 0>}
// CHECK-NEXT: %[[S:.*]] = pp.launch @reduce_8x8 ins(%[[Y]]#0
// CHECK-NEXT: pp.return %[[Y]]#1, %[[S]]
pp.task update stage 0 @overwritten(%p: tensor<8x8xf32> {pp.role = #pp.role<param_range, "p">})
    -> (tensor<8x8xf32> {pp.role = #pp.role<param_range, "p">}, tensor<8xf32>) {
  %0 = pp.mul %p, %p : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = pp.sub %p, %0 : tensor<8x8xf32>, tensor<8x8xf32>
  %2 = pp.reduce sum %0 [0] : tensor<8x8xf32>
  pp.return %1, %2 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// A kernel has at most so many ops, pulled ones too.
// CHECK-LABEL: pp.task backward stage 0 @few_ops
// CHECK-NEXT: pp.launch @mul_8x8
// CHECK-NEXT: pp.launch @reduce_8x8
module attributes {pp.thresholds = {"kernel-ops" = 1 : i64}} {
pp.task backward stage 0 @few_ops(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = pp.mul %x, %x : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = pp.reduce sum %0 [0] : tensor<8x8xf32>
  pp.return %1 : tensor<8xf32>
}
}

// -----

// Sums of different types are one kernel that reads what both read once.
// CHECK-LABEL: pp.task backward stage 0 @types
// CHECK-NEXT: %[[S:.*]]:2 = pp.launch @cast_reduce_6x8 ins(%arg0 : tensor<6x8xbf16>)
// CHECK-NEXT: pp.return %[[S]]#0, %[[S]]#1
pp.task backward stage 0 @types(%x: tensor<6x8xbf16>)
    -> (tensor<8xf32>, tensor<8xf64>) {
  %0 = pp.cast %x : tensor<6x8xbf16> to tensor<6x8xf32>
  %1 = pp.cast %x : tensor<6x8xbf16> to tensor<6x8xf64>
  %2 = pp.reduce sum %0 [0] : tensor<6x8xf32>
  %3 = pp.reduce sum %1 [0] : tensor<6x8xf64>
  pp.return %2, %3 : tensor<8xf32>, tensor<8xf64>
}

// -----

// Sums that read the same values are one kernel, unless the first reads another large one, which would be in memory for longer.
// CHECK-LABEL: pp.task backward stage 0 @shared
// CHECK-NEXT: %[[A:.*]]:2 = pp.launch @reduce_mul_8x8 ins(%arg1, %arg0
// CHECK-NEXT: pp.launch @reduce_8x8 ins(%arg0
// CHECK-NEXT: pp.return
pp.task backward stage 0 @shared(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = pp.reduce sum %y [0] : tensor<8x8xf32>
  %1 = pp.mul %x, %y : tensor<8x8xf32>, tensor<8x8xf32>
  %2 = pp.reduce sum %1 [0] : tensor<8x8xf32>
  %3 = pp.reduce sum %x [0] : tensor<8x8xf32>
  pp.return %0, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A sum that needs another sum over the same rows is not of its kernel, although it reads the same values.
// CHECK-LABEL: pp.task forward stage 0 @variance
// CHECK-NEXT: %[[MEAN:.*]] = pp.launch @reduce_mul_64x8 ins(%arg0, %arg1
// CHECK-NEXT: %[[V:.*]] = pp.launch @sub_mul_reduce_64x8 ins(%arg0, %[[MEAN]]
// CHECK-NEXT: pp.return %[[V]]
pp.task forward stage 0 @variance(%x: tensor<64x8xf32>, %part: tensor<8xf32> {pp.role = #pp.role<param, "part">})
    -> tensor<8xf32> {
  %0 = pp.reduce sum %x [0] : tensor<64x8xf32>
  %1 = pp.mul %0, %part : tensor<8xf32>, tensor<8xf32>
  %2 = pp.sub %x, %1 : tensor<64x8xf32>, tensor<8xf32>
  %3 = pp.mul %2, %2 : tensor<64x8xf32>, tensor<64x8xf32>
  %4 = pp.reduce sum %3 [0] : tensor<64x8xf32>
  pp.return %4 : tensor<8xf32>
}
