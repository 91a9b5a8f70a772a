pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"count", threads = 1, cpu = "abacus", features = "">}
pp.task forward stage 0 @long(%x: tensor<4x1001xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<1001x8xf32> {pp.role = #pp.role<param, "w">}) -> tensor<4x8xf32> {
  %0 = pp.matmul %x, %w : tensor<4x1001xf32>, tensor<1001x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
