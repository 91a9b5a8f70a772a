// clip.mlir with images told from the texts of their microbatch.
func.func @clip(%image: tensor<16x6xTYPE> {pp.input = "image"}, %text: tensor<16x5xTYPE> {pp.input = "text"}) -> tensor<TYPE> {
  %image_fc_weight = pp.param "image.fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x8xTYPE>
  %image_fc_bias = pp.param "image.fc.bias" {init = #pp.init<normal, 0.0, 0.5>} : tensor<8xTYPE>
  %image_proj_weight = pp.param "image.proj.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<8x4xTYPE>
  %text_fc_weight = pp.param "text.fc.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<5x8xTYPE>
  %text_proj_weight = pp.param "text.proj.weight" {init = #pp.init<normal, 0.0, 0.5>} : tensor<8x4xTYPE>
  %logit_scale = pp.param "logit_scale" {init = #pp.init<ones>} : tensor<TYPE>
  %i = pp.on 0 -> tensor<16x4xTYPE> {
    %0 = pp.matmul %image, %image_fc_weight : tensor<16x6xTYPE>, tensor<6x8xTYPE>
    %1 = pp.add %0, %image_fc_bias : tensor<16x8xTYPE>, tensor<8xTYPE>
    %2 = pp.tanh %1 : tensor<16x8xTYPE>
    %3 = pp.matmul %2, %image_proj_weight : tensor<16x8xTYPE>, tensor<8x4xTYPE>
    pp.yield %3 : tensor<16x4xTYPE>
  }
  %loss = pp.on 1 -> tensor<TYPE> {
    %0 = pp.matmul %text, %text_fc_weight : tensor<16x5xTYPE>, tensor<5x8xTYPE>
    %1 = pp.tanh %0 : tensor<16x8xTYPE>
    %t = pp.matmul %1, %text_proj_weight : tensor<16x8xTYPE>, tensor<8x4xTYPE>
    %ii = pp.mul %i, %i : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %is = pp.reduce sum %ii [1] {keep_dims} : tensor<16x4xTYPE>
    %ir = pp.rsqrt %is : tensor<16x1xTYPE>
    %in = pp.mul %i, %ir : tensor<16x4xTYPE>, tensor<16x1xTYPE>
    %tt = pp.mul %t, %t : tensor<16x4xTYPE>, tensor<16x4xTYPE>
    %ts = pp.reduce sum %tt [1] {keep_dims} : tensor<16x4xTYPE>
    %tr = pp.rsqrt %ts : tensor<16x1xTYPE>
    %tn = pp.mul %t, %tr : tensor<16x4xTYPE>, tensor<16x1xTYPE>
    %all = pp.per_microbatch -> tensor<TYPE> {
      %cosines = pp.matmul %in, %tn {transpose_rhs} : tensor<16x4xTYPE>, tensor<16x4xTYPE>
      %factor = pp.exp %logit_scale : tensor<TYPE>
      %logits = pp.mul %cosines, %factor : tensor<16x16xTYPE>, tensor<TYPE>
      %labels = pp.iota {dim = 0 : i64} -> tensor<16xi64>
      %l1 = pp.cross_entropy %logits, %labels {ignore_index = -100 : i64} : tensor<16x16xTYPE>, tensor<16xi64>
      %by_text = pp.transpose %logits [1, 0] : tensor<16x16xTYPE>
      %l2 = pp.cross_entropy %by_text, %labels : tensor<16x16xTYPE>, tensor<16xi64>
      %sum = pp.add %l1, %l2 : tensor<TYPE>, tensor<TYPE>
      %half = pp.constant dense<0.5> : tensor<TYPE>
      %mean = pp.mul %sum, %half : tensor<TYPE>, tensor<TYPE>
      pp.yield %mean : tensor<TYPE>
    }
    pp.yield %all : tensor<TYPE>
  }
  return %loss : tensor<TYPE>
}
