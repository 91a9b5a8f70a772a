// batch_norm.mlir with the statistics of each microbatch.
func.func private @batch_norm(%x: tensor<16x10xTYPE>, %scale: tensor<10xTYPE>, %bias: tensor<10xTYPE>) -> tensor<16x10xTYPE> {
  %y = pp.per_microbatch -> tensor<16x10xTYPE> {
    %mean = pp.reduce mean %x [0] : tensor<16x10xTYPE>
    %centered = pp.sub %x, %mean : tensor<16x10xTYPE>, tensor<10xTYPE>
    %squares = pp.mul %centered, %centered : tensor<16x10xTYPE>, tensor<16x10xTYPE>
    %variance = pp.reduce mean %squares [0] : tensor<16x10xTYPE>
    %eps = pp.constant dense<1.0e-5> : tensor<TYPE>
    %shifted = pp.add %variance, %eps : tensor<10xTYPE>, tensor<TYPE>
    %r = pp.rsqrt %shifted : tensor<10xTYPE>
    %normal = pp.mul %centered, %r : tensor<16x10xTYPE>, tensor<10xTYPE>
    %scaled = pp.mul %normal, %scale : tensor<16x10xTYPE>, tensor<10xTYPE>
    %shifted_rows = pp.add %scaled, %bias : tensor<16x10xTYPE>, tensor<10xTYPE>
    pp.yield %shifted_rows : tensor<16x10xTYPE>
  }
  return %y : tensor<16x10xTYPE>
}

func.func @mlp(%x: tensor<16x6xTYPE> {pp.input = "x"}, %y: tensor<16x3xTYPE> {pp.input = "y"}) -> tensor<TYPE> {
  %fc1_weight = pp.param "fc1.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x10xTYPE>
  %fc1_bias = pp.param "fc1.bias" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10xTYPE>
  %bn1_weight = pp.param "bn1.weight" {init = #pp.init<ones>} : tensor<10xTYPE>
  %bn1_bias = pp.param "bn1.bias" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10xTYPE>
  %fc2_weight = pp.param "fc2.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10x10xTYPE>
  %bn2_weight = pp.param "bn2.weight" {init = #pp.init<ones>} : tensor<10xTYPE>
  %bn2_bias = pp.param "bn2.bias" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10xTYPE>
  %fc3_weight = pp.param "fc3.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<10x3xTYPE>
  %h = pp.on 0 -> tensor<16x10xTYPE> {
    %0 = pp.matmul %x, %fc1_weight : tensor<16x6xTYPE>, tensor<6x10xTYPE>
    %1 = pp.add %0, %fc1_bias : tensor<16x10xTYPE>, tensor<10xTYPE>
    %2 = func.call @batch_norm(%1, %bn1_weight, %bn1_bias) : (tensor<16x10xTYPE>, tensor<10xTYPE>, tensor<10xTYPE>) -> tensor<16x10xTYPE>
    %3 = pp.tanh %2 : tensor<16x10xTYPE>
    pp.yield %3 : tensor<16x10xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %0 = pp.matmul %h, %fc2_weight : tensor<16x10xTYPE>, tensor<10x10xTYPE>
    %1 = func.call @batch_norm(%0, %bn2_weight, %bn2_bias) : (tensor<16x10xTYPE>, tensor<10xTYPE>, tensor<10xTYPE>) -> tensor<16x10xTYPE>
    %2 = pp.tanh %1 : tensor<16x10xTYPE>
    %3 = pp.matmul %2, %fc3_weight : tensor<16x10xTYPE>, tensor<10x3xTYPE>
    %l = pp.mse %3, %y : tensor<16x3xTYPE>, tensor<16x3xTYPE>
    pp.yield %l : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
