// Two towers that know nothing of each other, one for users and one for items,
// joined by the dot product of their vectors: the score of a pair. Trained towards
// given scores, with a small penalty on the items' vectors that are looked up.
!ids = tensor<128xi32>
!v = tensor<128x16xf32>
!w = tensor<16x16xf32>
!score = tensor<128xf32>

func.func private @tower(%e: !v, %w: !w) -> !v {
  %m = pp.matmul %e, %w : !v, !w
  %h = pp.tanh %m : !v
  return %h : !v
}

func.func @two_tower(%user: !ids {pp.input = "user"}, %item: !ids {pp.input = "item"},
                     %score: !score {pp.input = "score"}) -> tensor<f32> {
  %users = pp.param "user.embedding" {init = #pp.init<normal, 0.0, 0.1>} : tensor<1000x16xf32>
  %user_w = pp.param "user.weight" {init = #pp.init<normal, 0.0, 0.25>} : !w
  %ue = pp.embedding %users, %user : tensor<1000x16xf32>, !ids
  %u = call @tower(%ue, %user_w) : (!v, !w) -> !v

  %items = pp.param "item.embedding" {init = #pp.init<normal, 0.0, 0.1>} : tensor<500x16xf32>
  %item_w = pp.param "item.weight" {init = #pp.init<normal, 0.0, 0.25>} : !w
  %ie = pp.embedding %items, %item : tensor<500x16xf32>, !ids
  %i = call @tower(%ie, %item_w) : (!v, !w) -> !v

  %products = pp.mul %u, %i : !v, !v
  %predicted = pp.reduce sum %products [1] : !v
  %error = pp.mse %predicted, %score : !score, !score

  %squares = pp.mul %ie, %ie : !v, !v
  %size = pp.reduce mean %squares [0, 1] : !v
  %strength = pp.constant dense<0.01> : tensor<f32>
  %penalty = pp.mul %size, %strength : tensor<f32>, tensor<f32>
  %loss = pp.add %error, %penalty : tensor<f32>, tensor<f32>
  return %loss : tensor<f32>
}
