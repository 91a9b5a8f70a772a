// RUN: ppopt opt %s --pp-test-cost --verify-diagnostics -o /dev/null

// Work follows from the loop nests: no op is known by its name.
func.func @cost(%x: tensor<8x4xf32>, %ids: tensor<8xi32>, %q: tensor<2x3x8x4xf32>)
    -> (tensor<8x4xf32>, tensor<f32>, tensor<8xf32>, tensor<8x16xf32>, tensor<2x3x8x4xf32>) {
  // What is given takes no time.
  // expected-remark @below {{0 flops, 0 elements, 0 bytes; backward 0, 0, 0.}}
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x16xf32>
  // expected-remark @below {{0 flops, 0 elements, 0 bytes; backward 0, 0, 0.}}
  %frozen = pp.param "frozen" {init = #pp.init<zeros>, frozen} : tensor<4x16xf32>
  // expected-remark @below {{0 flops, 0 elements, 0 bytes; backward 0, 0, 0.}}
  %table = pp.param "table" {init = #pp.init<zeros>} : tensor<1000x4xf32>
  // expected-remark @below {{0 flops, 0 elements, 0 bytes; backward 0, 0, 0.}}
  %c = pp.constant dense<1.0> : tensor<8x16xf32>

  // Of the table only the rows that are looked up are read; its gradient is as large as the table.
  // expected-remark @below {{0 flops, 32 elements, 288 bytes; backward 0, 4000, 16160.}}
  %e = pp.embedding %table, %ids : tensor<1000x4xf32>, tensor<8xi32>

  // 2 M K N; a matmul for each operand's gradient, one less where the weight is frozen.
  // expected-remark @below {{1024 flops, 0 elements, 896 bytes; backward 2048, 0, 1792.}}
  %0 = pp.matmul %e, %w : tensor<8x4xf32>, tensor<4x16xf32>
  // expected-remark @below {{1024 flops, 0 elements, 896 bytes; backward 1024, 0, 896.}}
  %1 = pp.matmul %e, %frozen : tensor<8x4xf32>, tensor<4x16xf32>

  // The sum goes to relu in one kernel: it is neither written nor read.
  // expected-remark @below {{0 flops, 128 elements, 1024 bytes; backward 0, 0, 0.}}
  %2 = pp.add %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
  // expected-remark @below {{0 flops, 128 elements, 512 bytes; backward 0, 256, 1544.}}
  %3 = pp.relu %2 : tensor<8x16xf32>
  // expected-remark @below {{0 flops, 32 elements, 256 bytes; backward 0, 128, 640.}}
  %4 = pp.slice %3 [0, 0] : tensor<8x16xf32> to tensor<8x4xf32>

  // Two matmuls of 2·2·3·8·8·4, six steps on each of the 2·3·8·8 scores; backward five matmuls and ten steps.
  // expected-remark @below {{6144 flops, 2304 elements, 3456 bytes; backward 15360, 3840, 6528.}}
  %o, %lse = pp.attention %q, %q, %q : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  // A position sees 4.5 of 8 on average.
  // expected-remark @below {{3456 flops, 1296 elements, 3456 bytes; backward 8640, 2160, 6528.}}
  %half, %lse_half = pp.attention %q, %q, %q {causal} : tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>
  // expected-remark @below {{0 flops, 192 elements, 772 bytes; backward 0, 192, 772.}}
  %s = pp.reduce sum %o [0, 1, 2, 3] : tensor<2x3x8x4xf32>

  // A head's loss reads all logits, and writes as many gradients.
  // expected-remark @below {{0 flops, 944 elements, 576 bytes; backward 0, 1192, 1088.}}
  %l = pp.token_loss %3, %ids : tensor<8x16xf32>, tensor<8xi32>
  // No gradient passes.
  // expected-remark @below {{0 flops, 128 elements, 1024 bytes; backward 0, 0, 0.}}
  %d = pp.detach %3 : tensor<8x16xf32>
  return %4, %s, %l, %d, %half : tensor<8x4xf32>, tensor<f32>, tensor<8xf32>, tensor<8x16xf32>, tensor<2x3x8x4xf32>
}

// All heads of queries share those of keys: the gradient counts the same FLOPs.
func.func @shared_keys(%q: tensor<2x3x8x4xf32>, %k: tensor<2x1x8x4xf32>) -> tensor<2x3x8x4xf32> {
  // expected-remark @below {{3456 flops, 1296 elements, 2432 bytes; backward 8640, 2160, 4480.}}
  %a, %lse = pp.attention %q, %k, %k {causal} : tensor<2x3x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>
  return %a : tensor<2x3x8x4xf32>
}

// All of both operands is read, also where one alone has a dimension and it is not cut: the gradient of a weight of 3.
func.func @convolution(%x: tensor<3x1x2x64xf32>, %dy: tensor<1x4x2x64xf32>) -> tensor<3x1x4x3xf32> {
  // expected-remark @below {{9216 flops, 0 elements, 3728 bytes; backward}}
  %0 = pp.conv %x, %dy offsets [-1] : tensor<3x1x2x64xf32>, tensor<1x4x2x64xf32> to tensor<3x1x4x3xf32>
  return %0 : tensor<3x1x4x3xf32>
}
