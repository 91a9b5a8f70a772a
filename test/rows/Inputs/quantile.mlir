// Scores above a quantile of the batch are drawn to it, and it to zero: a term of the loss that all ranks have.
func.func @quantile(%x: tensor<16x6xTYPE> {pp.input = "x"}) -> tensor<TYPE> {
  %fc_weight = pp.param "fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x8xTYPE>
  %head_weight = pp.param "head.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<8x2xTYPE>
  %level_weight = pp.param "level.weight" {init = #pp.init<ones>} : tensor<2xTYPE>
  %h = pp.on 0 -> tensor<16x8xTYPE> {
    %0 = pp.matmul %x, %fc_weight : tensor<16x6xTYPE>, tensor<6x8xTYPE>
    %1 = pp.tanh %0 : tensor<16x8xTYPE>
    pp.yield %1 : tensor<16x8xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %s = pp.matmul %h, %head_weight : tensor<16x8xTYPE>, tensor<8x2xTYPE>
    %sorted, %ids = pp.sort %s {dim = 0 : i64} : tensor<16x2xTYPE> -> tensor<16x2xTYPE>, tensor<16x2xi32>
    %two = pp.slice %sorted [11, 0] : tensor<16x2xTYPE> to tensor<2x2xTYPE>
    %parts = pp.constant dense<[[0.75], [0.25]]> : tensor<2x1xTYPE>
    %weighted = pp.mul %two, %parts : tensor<2x2xTYPE>, tensor<2x1xTYPE>
    %between = pp.reduce sum %weighted [0] : tensor<2x2xTYPE>
    %q = pp.mul %between, %level_weight : tensor<2xTYPE>, tensor<2xTYPE>
    %over = pp.sub %s, %q : tensor<16x2xTYPE>, tensor<2xTYPE>
    %above = pp.relu %over : tensor<16x2xTYPE>
    %squares = pp.mul %above, %s : tensor<16x2xTYPE>, tensor<16x2xTYPE>
    %l = pp.reduce mean %squares [0, 1] : tensor<16x2xTYPE>
    %levels = pp.mul %q, %q : tensor<2xTYPE>, tensor<2xTYPE>
    %level = pp.reduce mean %levels [0] : tensor<2xTYPE>
    %all = pp.add %l, %level : tensor<TYPE>, tensor<TYPE>
    pp.yield %all : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
