!x = tensor<8x256xf32>
!w = tensor<256x256xf32>

func.func @model(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>, shard = #pp.sharding<[{tp}, {}]>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %w3 = pp.param "w3" {init = #pp.init<zeros>, shard = #pp.sharding<[{tp}, {}]>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.relu %0 : !x
  %2 = pp.matmul %1, %w1 : !x, !w
  %3 = pp.matmul %2, %w2 : !x, !w
  %4 = pp.relu %3 : !x
  %5 = pp.matmul %4, %w3 : !x, !w
  %l = pp.reduce mean %5 [0, 1] : !x
  return %l : tensor<f32>
}
