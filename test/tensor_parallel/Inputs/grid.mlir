// Two axes of the model: nested on one dimension, on two dimensions of one parameter, and on different parameters. Most matrices are square, so that a
// wrong dimension or axis has the right shape.
func.func @grid(%x: tensor<8x12xTYPE> {pp.input = "x"}, %y: tensor<8x12xTYPE> {pp.input = "y"}) -> tensor<TYPE> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {tp, sp}]>} : tensor<12x24xTYPE>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp, sp}, {}]>} : tensor<24x12xTYPE>
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{sp}, {tp}]>} : tensor<12x12xTYPE>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {sp}]>} : tensor<12x12xTYPE>
  %e = pp.param "e" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {2 * sp, 2 * tp}]>} : tensor<12x24xTYPE>
  %f = pp.param "f" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{sp}, {tp}]>} : tensor<24x12xTYPE>
  %g = pp.param "g" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x12xTYPE>
  %s = pp.param "s" {init = #pp.init<normal, 1.0, 0.3>, no_decay} : tensor<1xTYPE>
  %t = pp.param "t" {init = #pp.init<normal, 1.0, 0.3>, no_decay} : tensor<1xTYPE>
  %u = pp.param "u" {init = #pp.init<normal, 0.0, 0.3>, no_decay} : tensor<12xTYPE>
  // One sum over both axes. The gradient of the factor is a partial sum over both until the end of the step.
  %h0 = pp.matmul %x, %a : tensor<8x12xTYPE>, tensor<12x24xTYPE>
  %h1 = pp.tanh %h0 : tensor<8x24xTYPE>
  %h2 = pp.mul %h1, %s : tensor<8x24xTYPE>, tensor<1xTYPE>
  %h3 = pp.matmul %h2, %b : tensor<8x24xTYPE>, tensor<24x12xTYPE>
  // Rows over one axis, columns over the other, and the reverse: a sum over each.
  %h4 = pp.matmul %h3, %c : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %h5 = pp.tanh %h4 : tensor<8x12xTYPE>
  %h6 = pp.matmul %h5, %d : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %h7 = pp.mul %h6, %t : tensor<8x12xTYPE>, tensor<1xTYPE>
  %h8 = pp.softmax %h7 : tensor<8x12xTYPE>
  // Nested the other way round in each of two parts, then rows over one of them.
  %h9 = pp.matmul %h8, %e : tensor<8x12xTYPE>, tensor<12x24xTYPE>
  %h10 = pp.tanh %h9 : tensor<8x24xTYPE>
  %h11 = pp.matmul %h10, %f : tensor<8x24xTYPE>, tensor<24x12xTYPE>
  %h12 = pp.add %h11, %u : tensor<8x12xTYPE>, tensor<12xTYPE>
  %h13 = pp.matmul %h12, %g : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %h14 = pp.add %h13, %h3 : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  %loss = pp.mse %h14, %y : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  return %loss : tensor<TYPE>
}
