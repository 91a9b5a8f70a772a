// Weights that ask for each row of the table of reshards: what a layer makes is cut in another way than the next one reads it. Most matrices are square, so
// that a wrong dimension has the right shape.
func.func @reshards(%x: tensor<8x12xTYPE> {pp.input = "x"}, %y: tensor<8x12xTYPE> {pp.input = "y"}) -> tensor<TYPE> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {2 * tp}]>} : tensor<12x24xTYPE>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {tp}]>} : tensor<24x12xTYPE>
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x12xTYPE>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x12xTYPE>
  %e = pp.param "e" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{}, {tp}]>} : tensor<12x12xTYPE>
  %f = pp.param "f" {init = #pp.init<normal, 0.0, 0.3>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x12xTYPE>
  // Columns of each of two parts, then columns: an all-gather; the gradient is a reduce-scatter.
  %h0 = pp.matmul %x, %a : tensor<8x12xTYPE>, tensor<12x24xTYPE>
  %h1 = pp.tanh %h0 : tensor<8x24xTYPE>
  %h2 = pp.matmul %h1, %b : tensor<8x24xTYPE>, tensor<24x12xTYPE>
  // A softmax along columns that are cut: an all-reduce of maxima, and one of sums.
  %s = pp.softmax %h2 : tensor<8x12xTYPE>
  %h2s = pp.add %h2, %s : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  // Rows after columns: an all-reduce. Rows again: a slice, whose gradient is an all-gather.
  %h3 = pp.matmul %h2s, %c : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %h4 = pp.tanh %h3 : tensor<8x12xTYPE>
  %h5 = pp.matmul %h4, %d : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %h6 = pp.add %h5, %h4 : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  // Columns added to rows: an all-to-all, and one back.
  %e1 = pp.tanh %e : tensor<12x12xTYPE>
  %ef = pp.add %e1, %f : tensor<12x12xTYPE>, tensor<12x12xTYPE>
  %h7 = pp.matmul %h6, %ef : tensor<8x12xTYPE>, tensor<12x12xTYPE>
  %loss = pp.mse %h7, %y : tensor<8x12xTYPE>, tensor<8x12xTYPE>
  return %loss : tensor<TYPE>
}
