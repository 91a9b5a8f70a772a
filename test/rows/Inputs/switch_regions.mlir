// switch.mlir with the balance of each microbatch.
func.func @switch(%x: tensor<16x4x6xTYPE> {pp.input = "x"}, %y: tensor<16x4x3xTYPE> {pp.input = "y"}) -> tensor<TYPE> {
  %fc_weight = pp.param "fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x6xTYPE>
  %gate_weight = pp.param "gate.weight" {init = #pp.init<normal, 0.0, 1.0>} : tensor<6x3xTYPE>
  %head_weight = pp.param "head.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x3xTYPE>
  %h = pp.on 0 -> tensor<16x4x6xTYPE> {
    %0 = pp.matmul %x, %fc_weight : tensor<16x4x6xTYPE>, tensor<6x6xTYPE>
    %1 = pp.tanh %0 : tensor<16x4x6xTYPE>
    pp.yield %1 : tensor<16x4x6xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %scores = pp.matmul %h, %gate_weight : tensor<16x4x6xTYPE>, tensor<6x3xTYPE>
    %p = pp.softmax %scores : tensor<16x4x3xTYPE>
    %chosen = pp.argmax %p {dim = 2 : i64} : tensor<16x4x3xTYPE>
    %ones = pp.one_hot %chosen : tensor<16x4xi64> to tensor<16x4x3xTYPE>
    %balance = pp.per_microbatch -> tensor<TYPE> {
      %fraction = pp.reduce mean %ones [0, 1] : tensor<16x4x3xTYPE>
      %chance = pp.reduce mean %p [0, 1] : tensor<16x4x3xTYPE>
      %products = pp.mul %fraction, %chance : tensor<3xTYPE>, tensor<3xTYPE>
      %sum = pp.reduce sum %products [0] : tensor<3xTYPE>
      pp.yield %sum : tensor<TYPE>
    }
    %weight = pp.constant dense<0.3> : tensor<TYPE>
    %aux = pp.mul %balance, %weight : tensor<TYPE>, tensor<TYPE>
    %out = pp.matmul %h, %head_weight : tensor<16x4x6xTYPE>, tensor<6x3xTYPE>
    %gated = pp.mul %out, %p : tensor<16x4x3xTYPE>, tensor<16x4x3xTYPE>
    %l = pp.mse %gated, %y : tensor<16x4x3xTYPE>, tensor<16x4x3xTYPE>
    %all = pp.add %l, %aux : tensor<TYPE>, tensor<TYPE>
    pp.yield %all : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
