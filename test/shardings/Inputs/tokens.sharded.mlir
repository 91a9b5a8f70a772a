// tokens.mlir with its rows cut over dp, the table by rows and each of the three projections by columns over tp.
#table = #pp.sharding<[{tp}, {}]>
#w = #pp.sharding<[{}, {3 * tp}]>
#rows = #pp.sharding<[{dp}, {}, {}]>
#partial = #pp.sharding<[{dp}, {}, {}], sum = {tp}>
#total = #pp.sharding<[], sum = {dp, tp}>
#tile_of_table = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 3, period = 6}], [6, 4]>
#tile_of_rows = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 4}], [4, 2, 4]>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 3>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @tokens(%ids: tensor<2x2xi32> {pp.input = "ids", pp.sharding = #pp.sharding<[{dp}, {}]>},
                  %key: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<f64> {
  %table = pp.param "table" {init = #pp.init<zeros>, place = 0 : i64, pp.shardings = [#table]} : tensor<2x4xf64>
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64, pp.shardings = [#w]} : tensor<4x3xf64>
  %loss = pp.place 0 stage 0 backward attributes {pp.shardings = [#total]} -> tensor<f64> {
    %two = pp.constant dense<2.0> : tensor<f64>
    %rows = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 4}], [4, 1, 1]>} -> tensor<2x1x1xf64>
    %here = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #tile_of_table} : tensor<2x4xf64>, tensor<2x2xi32>
    %e = pp.reshard %here from #partial to #rows of [4, 2, 4] {bytes = 0 : i64} : tensor<2x2x4xf64> to tensor<2x2x4xf64>
    %d = pp.dropout %e key %key : tensor<15xi64> {p = 0.5 : f64, stream = 3 : i64, tile = #tile_of_rows} : tensor<2x2x4xf64>
    %s = pp.mul %d, %rows : tensor<2x2x4xf64>, tensor<2x1x1xf64>
    %f = pp.matmul %s, %w : tensor<2x2x4xf64>, tensor<4x3xf64>
    %q = pp.slice %f [0, 0, 0] : tensor<2x2x3xf64> to tensor<2x2x1xf64>
    %k = pp.slice %f [0, 0, 1] : tensor<2x2x3xf64> to tensor<2x2x1xf64>
    %v = pp.slice %f [0, 0, 2] : tensor<2x2x3xf64> to tensor<2x2x1xf64>
    %qk = pp.mul %q, %k : tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %z = pp.add %qk, %v : tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %zz = pp.mul %z, %z : tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %loss = pp.reduce sum %zz [0, 1, 2] : tensor<2x2x1xf64>
    %dz = pp.mul %z, %two : tensor<2x2x1xf64>, tensor<f64>
    %dq = pp.mul %dz, %k : tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %dk = pp.mul %dz, %q : tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %df = pp.concat %dq, %dk, %dz {dim = 2 : i64} : tensor<2x2x1xf64>, tensor<2x2x1xf64>, tensor<2x2x1xf64>
    %s2 = pp.reshape %s : tensor<2x2x4xf64> to tensor<4x4xf64>
    %df2 = pp.reshape %df : tensor<2x2x3xf64> to tensor<4x3xf64>
    %dw = pp.matmul %s2, %df2 {transpose_lhs} : tensor<4x4xf64>, tensor<4x3xf64>
    %part = pp.matmul %df, %w {transpose_rhs} : tensor<2x2x3xf64>, tensor<4x3xf64>
    %ds = pp.reshard %part from #partial to #rows of [4, 2, 4] {bytes = 0 : i64} : tensor<2x2x4xf64> to tensor<2x2x4xf64>
    %dd = pp.mul %ds, %rows : tensor<2x2x4xf64>, tensor<2x1x1xf64>
    %de = pp.dropout %dd key %key : tensor<15xi64> {p = 0.5 : f64, stream = 3 : i64, tile = #tile_of_rows} : tensor<2x2x4xf64>
    %dtable = pp.embedding_grad %ids, %de key %key : tensor<15xi64> {tile = #tile_of_table} : tensor<2x2xi32>, tensor<2x2x4xf64> to tensor<2x4xf64>
    pp.add_grad %table, %dtable {pp.reads = [#table, #pp.sharding<[{tp}, {}], sum = {dp}>]} : tensor<2x4xf64>
    pp.add_grad %w, %dw {pp.reads = [#w, #pp.sharding<[{}, {3 * tp}], sum = {dp}>]} : tensor<4x3xf64>
    pp.yield %loss : tensor<f64>
  }
  return {pp.reads = [#total]} %loss : tensor<f64>
}
