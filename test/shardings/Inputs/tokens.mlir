// Embedded tokens, dropout and a fused projection, with the gradients: before it is sharded.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 3>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @tokens(%ids: tensor<4x2xi32> {pp.input = "ids"}) -> tensor<f64> {
  %table = pp.param "table" {init = #pp.init<zeros>, place = 0 : i64} : tensor<6x4xf64>
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4x9xf64>
  %loss = pp.place 0 stage 0 backward -> tensor<f64> {
    %two = pp.constant dense<2.0> : tensor<f64>
    %rows = pp.iota {dim = 0 : i64} -> tensor<4x1x1xf64>
    %e = pp.embedding %table, %ids : tensor<6x4xf64>, tensor<4x2xi32>
    %d = pp.dropout %e {p = 0.5 : f64, stream = 3 : i64} : tensor<4x2x4xf64>
    %s = pp.mul %d, %rows : tensor<4x2x4xf64>, tensor<4x1x1xf64>
    %f = pp.matmul %s, %w : tensor<4x2x4xf64>, tensor<4x9xf64>
    %q = pp.slice %f [0, 0, 0] : tensor<4x2x9xf64> to tensor<4x2x3xf64>
    %k = pp.slice %f [0, 0, 3] : tensor<4x2x9xf64> to tensor<4x2x3xf64>
    %v = pp.slice %f [0, 0, 6] : tensor<4x2x9xf64> to tensor<4x2x3xf64>
    %qk = pp.mul %q, %k : tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %z = pp.add %qk, %v : tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %zz = pp.mul %z, %z : tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %loss = pp.reduce sum %zz [0, 1, 2] : tensor<4x2x3xf64>
    %dz = pp.mul %z, %two : tensor<4x2x3xf64>, tensor<f64>
    %dq = pp.mul %dz, %k : tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %dk = pp.mul %dz, %q : tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %df = pp.concat %dq, %dk, %dz {dim = 2 : i64} : tensor<4x2x3xf64>, tensor<4x2x3xf64>, tensor<4x2x3xf64>
    %s2 = pp.reshape %s : tensor<4x2x4xf64> to tensor<8x4xf64>
    %df2 = pp.reshape %df : tensor<4x2x9xf64> to tensor<8x9xf64>
    %dw = pp.matmul %s2, %df2 {transpose_lhs} : tensor<8x4xf64>, tensor<8x9xf64>
    %ds = pp.matmul %df, %w {transpose_rhs} : tensor<4x2x9xf64>, tensor<4x9xf64>
    %dd = pp.mul %ds, %rows : tensor<4x2x4xf64>, tensor<4x1x1xf64>
    %de = pp.dropout %dd {p = 0.5 : f64, stream = 3 : i64} : tensor<4x2x4xf64>
    %dtable = pp.embedding_grad %ids, %de : tensor<4x2xi32>, tensor<4x2x4xf64> to tensor<6x4xf64>
    pp.add_grad %table, %dtable : tensor<6x4xf64>
    pp.add_grad %w, %dw : tensor<4x9xf64>
    pp.yield %loss : tensor<f64>
  }
  return %loss : tensor<f64>
}
