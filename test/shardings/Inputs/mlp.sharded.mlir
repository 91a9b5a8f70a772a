// mlp.mlir with its rows cut over dp and mb, w1 by columns and w2 by rows over tp.
#w1 = #pp.sharding<[{}, {tp}]>
#w2 = #pp.sharding<[{tp}, {}]>
#rows = #pp.sharding<[{dp, mb}, {}]>
#partial = #pp.sharding<[{dp, mb}, {}], sum = {tp}>
#total = #pp.sharding<[], sum = {dp, mb}>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @mlp(%x: tensor<2x4xf64> {pp.input = "x", pp.sharding = #rows}) -> tensor<f64> {
  %w1 = pp.param "w1" {init = #pp.init<zeros>, place = 0 : i64, pp.shardings = [#w1]} : tensor<4x3xf64>
  %w2 = pp.param "w2" {init = #pp.init<zeros>, place = 0 : i64, pp.shardings = [#w2]} : tensor<3x4xf64>
  %loss = pp.place 0 stage 0 backward attributes {pp.shardings = [#total]} -> tensor<f64> {
    %one = pp.constant dense<1.0> : tensor<f64>
    %two = pp.constant dense<2.0> : tensor<f64>
    %h = pp.matmul %x, %w1 : tensor<2x4xf64>, tensor<4x3xf64>
    %a = pp.tanh %h : tensor<2x3xf64>
    %parts = pp.matmul %a, %w2 {pp.shardings = [#partial]} : tensor<2x3xf64>, tensor<3x4xf64>
    %y = pp.reshard %parts from #partial to #rows of [8, 4] {bytes = 0 : i64} : tensor<2x4xf64> to tensor<2x4xf64>
    %yy = pp.mul %y, %y : tensor<2x4xf64>, tensor<2x4xf64>
    %s = pp.reduce sum %yy [0, 1] {pp.shardings = [#total]} : tensor<2x4xf64>
    %ww = pp.mul %w2, %w2 : tensor<3x4xf64>, tensor<3x4xf64>
    %p = pp.reduce sum %ww [0, 1] : tensor<3x4xf64>
    %share = pp.reshard %p from #pp.sharding<[], sum = {tp}> to #total of [] {bytes = 0 : i64} : tensor<f64> to tensor<f64>
    %loss = pp.add %s, %share : tensor<f64>, tensor<f64>
    %dy = pp.mul %y, %two : tensor<2x4xf64>, tensor<f64>
    %da = pp.matmul %dy, %w2 {transpose_rhs} : tensor<2x4xf64>, tensor<3x4xf64>
    %aa = pp.mul %a, %a : tensor<2x3xf64>, tensor<2x3xf64>
    %slope = pp.sub %one, %aa : tensor<f64>, tensor<2x3xf64>
    %dh = pp.mul %da, %slope : tensor<2x3xf64>, tensor<2x3xf64>
    %dw1 = pp.matmul %x, %dh {transpose_lhs} : tensor<2x4xf64>, tensor<2x3xf64>
    %dw2 = pp.matmul %a, %dy {transpose_lhs} : tensor<2x3xf64>, tensor<2x4xf64>
    %dp = pp.mul %w2, %two : tensor<3x4xf64>, tensor<f64>
    %share2 = pp.reshard %dp from #w2 to #pp.sharding<[{tp}, {}], sum = {dp, mb}> of [6, 4] {bytes = 0 : i64} : tensor<3x4xf64> to tensor<3x4xf64>
    %d = pp.add %dw2, %share2 : tensor<3x4xf64>, tensor<3x4xf64>
    pp.add_grad %w1, %dw1 {pp.reads = [#w1, #pp.sharding<[{}, {tp}], sum = {dp, mb}>]} : tensor<4x3xf64>
    pp.add_grad %w2, %d {pp.reads = [#w2, #pp.sharding<[{tp}, {}], sum = {dp, mb}>]} : tensor<3x4xf64>
    pp.yield %loss : tensor<f64>
  }
  return {pp.reads = [#total]} %loss : tensor<f64>
}
