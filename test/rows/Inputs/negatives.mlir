// Triplets with the hardest negatives of the batch: the two rows most like an anchor that are not its own positive, looked up by their ids.
func.func @negatives(%anchor: tensor<16x6xTYPE> {pp.input = "anchor"}, %positive: tensor<16x6xTYPE> {pp.input = "positive"}) -> tensor<TYPE> {
  %fc_weight = pp.param "fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x4xTYPE>
  %proj_weight = pp.param "proj.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<4x4xTYPE>
  %a, %p = pp.on 0 -> tensor<16x4xTYPE>, tensor<16x4xTYPE> {
    %0 = pp.matmul %anchor, %fc_weight : tensor<16x6xTYPE>, tensor<6x4xTYPE>
    %1 = pp.tanh %0 : tensor<16x4xTYPE>
    %2 = pp.matmul %positive, %fc_weight : tensor<16x6xTYPE>, tensor<6x4xTYPE>
    %3 = pp.tanh %2 : tensor<16x4xTYPE>
    pp.yield %1, %3 : tensor<16x4xTYPE>, tensor<16x4xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %za = pp.matmul %a, %proj_weight : tensor<16x4xTYPE>, tensor<4x4xTYPE>
    %zp = pp.matmul %p, %proj_weight : tensor<16x4xTYPE>, tensor<4x4xTYPE>
    %scores = pp.matmul %za, %zp {transpose_rhs} : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %rows = pp.iota {dim = 0 : i64} -> tensor<16x16xi64>
    %columns = pp.iota {dim = 1 : i64} -> tensor<16x16xi64>
    %own = pp.compare eq %rows, %columns : tensor<16x16xi64>, tensor<16x16xi64>
    %far = pp.constant dense<-1.0e+9> : tensor<TYPE>
    %others = pp.select %own, %far, %scores : tensor<16x16xi1>, tensor<TYPE>, tensor<16x16xTYPE>
    %values, %ids = pp.top_k %others {k = 2 : i64, dim = 1 : i64} : tensor<16x16xTYPE> -> tensor<16x2xTYPE>, tensor<16x2xi32>
    %looked_up = pp.embedding %zp, %ids : tensor<16x4xTYPE>, tensor<16x2xi32>
    %za3 = pp.reshape %za : tensor<16x4xTYPE> to tensor<16x1x4xTYPE>
    %dn = pp.sub %looked_up, %za3 : tensor<16x2x4xTYPE>, tensor<16x1x4xTYPE>
    %dn2 = pp.mul %dn, %dn : tensor<16x2x4xTYPE>, tensor<16x2x4xTYPE>
    %negative = pp.reduce sum %dn2 [2] : tensor<16x2x4xTYPE>
    %dp = pp.sub %zp, %za : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %dp2 = pp.mul %dp, %dp : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %near = pp.reduce sum %dp2 [1] {keep_dims} : tensor<16x4xTYPE>
    %margin = pp.constant dense<1.0> : tensor<TYPE>
    %gap = pp.sub %near, %negative : tensor<16x1xTYPE>, tensor<16x2xTYPE>
    %late = pp.add %gap, %margin : tensor<16x2xTYPE>, tensor<TYPE>
    %hinge = pp.softplus %late : tensor<16x2xTYPE>
    %triplets = pp.reduce mean %hinge [0, 1] : tensor<16x2xTYPE>
    %hard = pp.reduce mean %values [0, 1] : tensor<16x2xTYPE>
    %tenth = pp.constant dense<0.1> : tensor<TYPE>
    %more = pp.mul %hard, %tenth : tensor<TYPE>, tensor<TYPE>
    %l = pp.add %triplets, %more : tensor<TYPE>, tensor<TYPE>
    pp.yield %l : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
