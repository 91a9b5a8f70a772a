// RUN: ppopt opt %s --pp-block-rows="budget=320" --split-input-file | FileCheck %s
// RUN: ppopt opt %s --pp-block-rows --split-input-file | FileCheck %s --check-prefix=WHOLE

// At 64 MiB nothing is wide.
// WHOLE-NOT: pp.matmul {{.*}} : tensor<{{(1x5|1x3|4|3)}}x4xf32>

// 8 rows of 16 are 512 bytes: two blocks. The second reads the other halves, the weight as it is; its part of the weight's gradient is added to the first's
// before the rows of dx are put together.

// CHECK-LABEL: @head
// CHECK: %[[X0:.*]] = pp.slice %{{.*}} [0, 0] : tensor<8x4xf32> to tensor<4x4xf32>
// CHECK: %[[Z0:.*]] = pp.matmul %[[X0]], %[[W:.*]] : tensor<4x4xf32>, tensor<4x16xf32>
// CHECK: %[[T0:.*]] = pp.slice %{{.*}} [0] : tensor<8xi32> to tensor<4xi32>
// CHECK: %[[L0:.*]] = pp.token_loss %[[Z0]], %[[T0]]
// CHECK: %[[D0:.*]] = pp.broadcast %[[D:.*]] [] : tensor<f32> to tensor<4xf32>
// CHECK: %[[G0:.*]] = pp.token_loss_grad %[[Z0]], %[[T0]], %[[D0]]
// CHECK: %[[DX0:.*]] = pp.matmul %[[G0]], %[[W]] {transpose_rhs}
// CHECK: %[[DW0:.*]] = pp.matmul %[[X0]], %[[G0]] {transpose_lhs}
// CHECK: %[[X1:.*]] = pp.slice %{{.*}} [4, 0]
// CHECK: %[[Z1:.*]] = pp.matmul %[[X1]], %[[W]]
// CHECK: %[[L1:.*]] = pp.token_loss %[[Z1]]
// CHECK: %[[G1:.*]] = pp.token_loss_grad %[[Z1]]
// CHECK: %[[DX1:.*]] = pp.matmul %[[G1]], %[[W]] {transpose_rhs}
// CHECK: %[[DW1:.*]] = pp.matmul %[[X1]], %[[G1]] {transpose_lhs}
// CHECK: %[[DW:.*]] = pp.add %[[DW0]], %[[DW1]]
// CHECK: %[[L:.*]] = pp.concat %[[L0]], %[[L1]] {dim = 0 : i64}
// CHECK: %[[DX:.*]] = pp.concat %[[DX0]], %[[DX1]] {dim = 0 : i64}
// CHECK: pp.reduce sum %[[L]]
// CHECK: pp.accumulate %{{.*}}, %[[DW]]
// CHECK: pp.return {{.*}}%[[DX]]
pp.task backward stage 0 @head(%x: tensor<8x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">},
    %t: tensor<8xi32> {pp.role = #pp.role<input, "t">}, %d: tensor<f32> {pp.role = #pp.role<global, "g0">}, %dw: tensor<4x16xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<4x16xf32> {pp.role = #pp.role<grad, "w">}, tensor<8x4xf32>, tensor<f32>) {
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32>
  %1 = pp.token_loss %0, %t : tensor<8x16xf32>, tensor<8xi32>
  %2 = pp.reduce sum %1 [0] : tensor<8xf32>
  %3 = pp.broadcast %d [] : tensor<f32> to tensor<8xf32>
  %4 = pp.token_loss_grad %0, %t, %3 : tensor<8x16xf32>, tensor<8xi32>, tensor<8xf32>
  %5 = pp.matmul %4, %w {transpose_rhs} : tensor<8x16xf32>, tensor<4x16xf32>
  %6 = pp.matmul %x, %4 {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32>
  %7 = pp.accumulate %dw, %6 : tensor<4x16xf32>
  pp.return %7, %5, %2 : tensor<4x16xf32>, tensor<8x4xf32>, tensor<f32>
}

// -----

// Two rows of batch come first, then the positions in each; a reshape in between is cut where the rows are. Rows that do not divide: the last block is smaller.

// CHECK-LABEL: @batch
// CHECK: pp.matmul {{.*}} : tensor<1x5x4xf32>, tensor<4x16xf32>
// CHECK: pp.reshape {{.*}} : tensor<1x5x16xf32> to tensor<5x16xf32>
// CHECK: pp.matmul {{.*}} : tensor<5x16xf32>, tensor<16x4xf32>
// CHECK: pp.slice %{{.*}} [1, 0, 0] : tensor<2x5x4xf32> to tensor<1x5x4xf32>
// CHECK: pp.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : tensor<5x4xf32>, tensor<5x4xf32>

// CHECK-LABEL: @uneven
// CHECK: pp.matmul {{.*}} : tensor<4x4xf32>, tensor<4x16xf32>
// CHECK: pp.matmul {{.*}} : tensor<3x4xf32>, tensor<4x16xf32>
// CHECK: pp.concat {{.*}} : tensor<4xf32>, tensor<3xf32>

// A row of the batch alone is too wide: its positions are cut in turn.
// CHECK-LABEL: @nested
// CHECK-COUNT-4: pp.matmul {{.*}} : tensor<1x3x4xf32>, tensor<4x16xf32>
// CHECK: pp.return
pp.task forward stage 0 @batch(%x: tensor<2x5x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<10x4xf32> {
  %v = pp.reshape %w : tensor<4x16xf32> to tensor<16x4xf32>
  %0 = pp.matmul %x, %w : tensor<2x5x4xf32>, tensor<4x16xf32>
  %1 = pp.reshape %0 : tensor<2x5x16xf32> to tensor<10x16xf32>
  %2 = pp.matmul %1, %v : tensor<10x16xf32>, tensor<16x4xf32>
  pp.return %2 : tensor<10x4xf32>
}
pp.task forward stage 0 @uneven(%x: tensor<7x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<7xf32> {
  %0 = pp.matmul %x, %w : tensor<7x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce sum %0 [1] : tensor<7x16xf32>
  pp.return %1 : tensor<7xf32>
}
pp.task forward stage 0 @nested(%x: tensor<2x6x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<2x6xf32> {
  %0 = pp.matmul %x, %w : tensor<2x6x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce sum %0 [2] : tensor<2x6x16xf32>
  pp.return %1 : tensor<2x6xf32>
}

// -----

// What a block reads follows from its rows: a slice, a pad or a concatenation along them is computed whole, and cut; a broadcast over them is computed
// for the block alone. Of nested blocks the second row of the batch reads from row 6 on.

// CHECK-LABEL: @moved_rows
// CHECK: %[[S:.*]] = pp.slice %{{.*}} [2, 0] : tensor<14x4xf32> to tensor<12x4xf32>
// CHECK: %[[P:.*]] = pp.pad %{{.*}} [3, 0] : tensor<8x1xf32> to tensor<12x1xf32>
// CHECK: %[[C:.*]] = pp.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : tensor<6x1xf32>, tensor<6x1xf32>
// CHECK: %[[S0:.*]] = pp.slice %[[S]] [0, 0] : tensor<12x4xf32> to tensor<4x4xf32>
// CHECK: pp.matmul %[[S0]]
// CHECK: pp.slice %[[P]] [0, 0] : tensor<12x1xf32> to tensor<4x1xf32>
// CHECK: pp.slice %[[C]] [0, 0] : tensor<12x1xf32> to tensor<4x1xf32>
// CHECK: pp.broadcast %{{.*}} [1] : tensor<1xf32> to tensor<4x1xf32>
// CHECK: pp.slice %[[S]] [4, 0] : tensor<12x4xf32> to tensor<4x4xf32>
// CHECK: pp.slice %[[P]] [4, 0] : tensor<12x1xf32> to tensor<4x1xf32>
// CHECK: pp.slice %[[C]] [4, 0] : tensor<12x1xf32> to tensor<4x1xf32>
// CHECK: pp.broadcast %{{.*}} [1] : tensor<1xf32> to tensor<4x1xf32>

// CHECK-LABEL: @gradient_of_nested
// CHECK: %[[F:.*]] = pp.reshape %{{.*}} : tensor<2x6x4xf32> to tensor<12x4xf32>
// CHECK: %[[F0:.*]] = pp.slice %[[F]] [0, 0] : tensor<12x4xf32> to tensor<6x4xf32>
// CHECK: pp.slice %[[F0]] [0, 0] : tensor<6x4xf32> to tensor<3x4xf32>
// CHECK: pp.slice %[[F0]] [3, 0] : tensor<6x4xf32> to tensor<3x4xf32>
// CHECK: %[[F1:.*]] = pp.slice %[[F]] [6, 0] : tensor<12x4xf32> to tensor<6x4xf32>
// CHECK: pp.slice %[[F1]] [0, 0] : tensor<6x4xf32> to tensor<3x4xf32>
// CHECK: pp.slice %[[F1]] [3, 0] : tensor<6x4xf32> to tensor<3x4xf32>
pp.task forward stage 0 @moved_rows(%x: tensor<14x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">},
    %p: tensor<8x1xf32>, %q: tensor<6x1xf32>, %b: tensor<1xf32> {pp.role = #pp.role<param, "b">})
    -> tensor<12xf32> {
  %0 = pp.slice %x [2, 0] : tensor<14x4xf32> to tensor<12x4xf32>
  %1 = pp.pad %p [3, 0] : tensor<8x1xf32> to tensor<12x1xf32>
  %2 = pp.concat %q, %q {dim = 0 : i64} : tensor<6x1xf32>, tensor<6x1xf32>
  %3 = pp.broadcast %b [1] : tensor<1xf32> to tensor<12x1xf32>
  %4 = pp.matmul %0, %w : tensor<12x4xf32>, tensor<4x16xf32>
  %5 = pp.add %4, %1 : tensor<12x16xf32>, tensor<12x1xf32>
  %6 = pp.add %5, %2 : tensor<12x16xf32>, tensor<12x1xf32>
  %7 = pp.add %6, %3 : tensor<12x16xf32>, tensor<12x1xf32>
  %8 = pp.reduce sum %7 [1] : tensor<12x16xf32>
  pp.return %8 : tensor<12xf32>
}
pp.task backward stage 0 @gradient_of_nested(%x: tensor<2x6x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">},
    %dw: tensor<4x16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<4x16xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.matmul %x, %w : tensor<2x6x4xf32>, tensor<4x16xf32>
  %1 = pp.reshape %0 : tensor<2x6x16xf32> to tensor<12x16xf32>
  %2 = pp.reshape %x : tensor<2x6x4xf32> to tensor<12x4xf32>
  %3 = pp.matmul %2, %1 {transpose_lhs} : tensor<12x4xf32>, tensor<12x16xf32>
  %4 = pp.accumulate %dw, %3 : tensor<4x16xf32>
  pp.return %4 : tensor<4x16xf32>
}

// -----

// A value over the budget that is much narrower than the matmul is put together: here dropout reads it, which is not cut.

// CHECK-LABEL: @narrower
// CHECK-COUNT-12: pp.matmul {{.*}} : tensor<4x4xf32>, tensor<4x16xf32>
// CHECK: pp.concat
// CHECK: pp.dropout {{.*}} : tensor<48x4xf32>
pp.task forward stage 0 @narrower(%x: tensor<48x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">},
    %v: tensor<16x4xf32> {pp.role = #pp.role<param, "v">}, %k: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<48x4xf32> {
  %0 = pp.matmul %x, %w : tensor<48x4xf32>, tensor<4x16xf32>
  %1 = pp.matmul %0, %v : tensor<48x16xf32>, tensor<16x4xf32>
  %2 = pp.dropout %1 key %k : tensor<15xi64> {p = 5.000000e-01 : f64, stream = 0 : i64} : tensor<48x4xf32>
  pp.return %2 : tensor<48x4xf32>
}

// -----

// Left alone: a wide value that the task returns, rows that are mixed, what is drawn by its place, and a value that is whole before the next matmul of the group.

// CHECK-LABEL: @returned
// CHECK-NOT: pp.concat
pp.task forward stage 0 @returned(%x: tensor<8x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<8x16xf32> {
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32>
  %1 = pp.relu %0 : tensor<8x16xf32>
  pp.return %1 : tensor<8x16xf32>
}
pp.task forward stage 0 @mixed(%x: tensor<8x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<16xf32> {
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce max %0 [0] : tensor<8x16xf32>
  pp.return %1 : tensor<16xf32>
}
pp.task forward stage 0 @drawn(%x: tensor<8x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">},
    %k: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<8xf32> {
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32>
  %1 = pp.dropout %0 key %k : tensor<15xi64> {p = 5.000000e-01 : f64, stream = 0 : i64} : tensor<8x16xf32>
  %2 = pp.reduce sum %1 [1] : tensor<8x16xf32>
  pp.return %2 : tensor<8xf32>
}
pp.task forward stage 0 @whole_between(%x: tensor<8x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<8xf32> {
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce sum %0 [0] : tensor<8x16xf32>
  %2 = pp.sub %0, %1 : tensor<8x16xf32>, tensor<16xf32>
  %3 = pp.reduce sum %2 [1] : tensor<8x16xf32>
  pp.return %3 : tensor<8xf32>
}
