// A pair of square matrices, cut by columns and by rows. The factor between them is whole, and its gradient a partial sum over tp until the end
// of the step. A wrong dimension has the right shape.
func.func @scaled(%x: tensor<8x12xTYPE> {pp.input = "x"}, %y: tensor<8x12xTYPE> {pp.input = "y"}) -> tensor<TYPE> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {tp}]>} : tensor<12x12xTYPE>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.3>, no_decay} : tensor<12xTYPE>
  %c = pp.param "c" {init = #pp.init<normal, 1.0, 0.3>, no_decay} : tensor<1xTYPE>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x12xTYPE>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.3>, no_decay} : tensor<12xTYPE>
  %h = pp.matmul %x, %w : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %hb = pp.add %h, %b : tensor<8x12xTYPE>, tensor<12xTYPE>
  %t = pp.tanh %hb : tensor<8x12xTYPE>
  %tc = pp.mul %t, %c : tensor<8x12xTYPE>, tensor<1xTYPE>
  %o = pp.matmul %tc, %v : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %od = pp.add %o, %d : tensor<8x12xTYPE>, tensor<12xTYPE>
  %loss = pp.mse %od, %y : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  return %loss : tensor<TYPE>
}
