// RUN: ppopt opt %s --pp-form-kernels | FileCheck %s

// Heads of one fused projection: the kernel reads it and writes its gradient, by strides. The gradients of the three slices are
// parts that fill a tensor.
// CHECK-LABEL: pp.task forward stage 0 @fused
// CHECK-NEXT: %[[SPLIT:.*]] = pp.reshape %arg0
// CHECK-NEXT: %[[F:.*]]:2 = pp.launch @attention_2x3x8x4 ins(%[[SPLIT]] : tensor<2x8x9x4xf32>)
// CHECK-NEXT: %[[MERGED:.*]] = pp.reshape %[[F]]#1 : tensor<2x8x3x4xf32> to tensor<2x8x12xf32>
// CHECK-NEXT: pp.matmul %[[MERGED]], %arg1
// CHECK-NEXT: pp.return
pp.task forward stage 0 @fused(%x: tensor<2x8x36xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<12x12xf32> {pp.role = #pp.role<param, "w">})
    -> (tensor<2x8x12xf32>, tensor<2x3x8x2xf32>) {
  %s = pp.reshape %x : tensor<2x8x36xf32> to tensor<2x8x9x4xf32>
  %t = pp.transpose %s [0, 2, 1, 3] : tensor<2x8x9x4xf32>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %k = pp.slice %t [0, 3, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %v = pp.slice %t [0, 6, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %o, %lse = pp.attention %q, %k, %v {causal} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  %ot = pp.transpose %o [0, 2, 1, 3] : tensor<2x3x8x4xf32>
  %m = pp.reshape %ot : tensor<2x8x3x4xf32> to tensor<2x8x12xf32>
  %y = pp.matmul %m, %w : tensor<2x8x12xf32>, tensor<12x12xf32>
  pp.return %y, %lse : tensor<2x8x12xf32>, tensor<2x3x8x2xf32>
}

// CHECK-LABEL: pp.task backward stage 0 @fused_grad
// CHECK: %[[G:.*]] = pp.launch @attention_grad_2x3x8x4 ins(%{{.*}}, %{{.*}}, %arg2, %{{.*}} : tensor<2x8x9x4xf32>, tensor<2x8x3x4xf32>, tensor<2x3x8x2xf32>, tensor<2x8x3x4xf32>)
// CHECK-NEXT: %[[FLAT:.*]] = pp.reshape %[[G]] : tensor<2x8x9x4xf32> to tensor<2x8x36xf32>
// CHECK-NEXT: pp.return %[[FLAT]]
pp.task backward stage 0 @fused_grad(%x: tensor<2x8x36xf32> {pp.role = #pp.role<input, "x">}, %out: tensor<2x8x12xf32>,
    %lse: tensor<2x3x8x2xf32>, %dy: tensor<2x8x12xf32>)
    -> tensor<2x8x36xf32> {
  %s = pp.reshape %x : tensor<2x8x36xf32> to tensor<2x8x9x4xf32>
  %t = pp.transpose %s [0, 2, 1, 3] : tensor<2x8x9x4xf32>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %k = pp.slice %t [0, 3, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %v = pp.slice %t [0, 6, 0, 0] : tensor<2x9x8x4xf32> to tensor<2x3x8x4xf32>
  %os = pp.reshape %out : tensor<2x8x12xf32> to tensor<2x8x3x4xf32>
  %o = pp.transpose %os [0, 2, 1, 3] : tensor<2x8x3x4xf32>
  %ds = pp.reshape %dy : tensor<2x8x12xf32> to tensor<2x8x3x4xf32>
  %do = pp.transpose %ds [0, 2, 1, 3] : tensor<2x8x3x4xf32>
  %dq, %dk, %dv = pp.attention_grad %q, %k, %v, %o, %lse, %do {causal} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x2xf32>
  %pv = pp.pad %dv [0, 6, 0, 0] : tensor<2x3x8x4xf32> to tensor<2x9x8x4xf32>
  %pk = pp.pad %dk [0, 3, 0, 0] : tensor<2x3x8x4xf32> to tensor<2x9x8x4xf32>
  %a = pp.add %pv, %pk : tensor<2x9x8x4xf32>, tensor<2x9x8x4xf32>
  %pq = pp.pad %dq [0, 0, 0, 0] : tensor<2x3x8x4xf32> to tensor<2x9x8x4xf32>
  %b = pp.add %a, %pq : tensor<2x9x8x4xf32>, tensor<2x9x8x4xf32>
  %bt = pp.transpose %b [0, 2, 1, 3] : tensor<2x9x8x4xf32>
  %dx = pp.reshape %bt : tensor<2x8x9x4xf32> to tensor<2x8x36xf32>
  pp.return %dx : tensor<2x8x36xf32>
}

// What no strides express is copied: keys whose positions are contiguous, heads merged out of order; an output with a second
// reader is written as it is.
// CHECK-LABEL: pp.task forward stage 0 @copies
// CHECK: %[[K:.*]] = pp.launch @transpose_
// CHECK: %[[V:.*]] = pp.launch @transpose_
// CHECK: %[[O:.*]]:2 = pp.launch @attention_2x3x8x4_1 ins(%arg0, %[[K]], %{{.*}} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>)
// CHECK: pp.launch @transpose_{{.*}} ins(%[[O]]#0
pp.task forward stage 0 @copies(%q: tensor<2x3x8x4xf32> {pp.role = #pp.role<input, "q">}, %kt: tensor<2x3x4x8xf32> {pp.role = #pp.role<input, "k">},
    %v: tensor<8x4x3x2xf32> {pp.role = #pp.role<input, "v">})
    -> (tensor<2x3x8x4xf32>, tensor<2x8x3x4xf32>, tensor<2x3x8x2xf32>) {
  %k = pp.transpose %kt [0, 1, 3, 2] : tensor<2x3x4x8xf32>
  %vt = pp.transpose %v [2, 3, 0, 1] : tensor<8x4x3x2xf32>
  %vs = pp.reshape %vt : tensor<3x2x8x4xf32> to tensor<2x3x8x4xf32>
  %o, %lse = pp.attention %q, %k, %vs : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  %ot = pp.transpose %o [0, 2, 1, 3] : tensor<2x3x8x4xf32>
  pp.return %o, %ot, %lse : tensor<2x3x8x4xf32>, tensor<2x8x3x4xf32>, tensor<2x3x8x2xf32>
}

// The kernel of @fused_grad: its results go to one buffer.
// CHECK-LABEL: pp.kernel @attention_grad_2x3x8x4(
// CHECK: %[[D:.*]], %[[DK:.*]], %[[DV:.*]] = pp.attention_grad
// CHECK-NEXT: %[[ALL:.*]] = pp.concat %[[D]], %[[DK]], %[[DV]] {dim = 1 : i64}
// CHECK-NEXT: %[[T:.*]] = pp.transpose %[[ALL]] [0, 2, 1, 3]
// CHECK-NEXT: pp.return %[[T]]
