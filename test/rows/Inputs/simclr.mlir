// SimCLR: each view is told from the views of all other rows of the batch. Views of both kinds are one dimension.
func.func @simclr(%a: tensor<8x6xTYPE> {pp.input = "a"}, %b: tensor<8x6xTYPE> {pp.input = "b"}) -> tensor<TYPE> {
  %fc_weight = pp.param "fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x10xTYPE>
  %fc_bias = pp.param "fc.bias" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10xTYPE>
  %proj_weight = pp.param "proj.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10x4xTYPE>
  %n = pp.on 0 -> tensor<16x4xTYPE> {
    %x = pp.concat %a, %b {dim = 0 : i64} : tensor<8x6xTYPE>, tensor<8x6xTYPE>
    %0 = pp.matmul %x, %fc_weight : tensor<16x6xTYPE>, tensor<6x10xTYPE>
    %1 = pp.add %0, %fc_bias : tensor<16x10xTYPE>, tensor<10xTYPE>
    %2 = pp.gelu %1 : tensor<16x10xTYPE>
    %z = pp.matmul %2, %proj_weight : tensor<16x10xTYPE>, tensor<10x4xTYPE>
    %zz = pp.mul %z, %z : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %s = pp.reduce sum %zz [1] {keep_dims} : tensor<16x4xTYPE>
    %r = pp.rsqrt %s : tensor<16x1xTYPE>
    %normal = pp.mul %z, %r : tensor<16x4xTYPE>, tensor<16x1xTYPE>
    pp.yield %normal : tensor<16x4xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %cosines = pp.matmul %n, %n {transpose_rhs} : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %two = pp.constant dense<2.0> : tensor<TYPE>
    %scores = pp.mul %cosines, %two : tensor<16x16xTYPE>, tensor<TYPE>
    %rows = pp.iota {dim = 0 : i64} -> tensor<16x16xi64>
    %columns = pp.iota {dim = 1 : i64} -> tensor<16x16xi64>
    %self = pp.compare eq %rows, %columns : tensor<16x16xi64>, tensor<16x16xi64>
    %far = pp.constant dense<-1.0e+9> : tensor<TYPE>
    %others = pp.select %self, %far, %scores : tensor<16x16xi1>, tensor<TYPE>, tensor<16x16xTYPE>
    %first = pp.iota {dim = 0 : i64} -> tensor<8xi64>
    %eight = pp.constant dense<8> : tensor<i64>
    %second = pp.add %first, %eight : tensor<8xi64>, tensor<i64>
    %labels = pp.concat %second, %first {dim = 0 : i64} : tensor<8xi64>, tensor<8xi64>
    %l = pp.cross_entropy %others, %labels {ignore_index = -100 : i64} : tensor<16x16xTYPE>, tensor<16xi64>
    pp.yield %l : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
