// RUN: %ppopt opt %s -split-input-file -verify-diagnostics

func.func @gather_dim(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>) {
  // expected-error @below {{'pp.gather' op dim 2 is no dimension of 'tensor<4x8xf32>'}}
  %0 = pp.gather %x, %ids {dim = 2 : i64} : tensor<4x8xf32>, tensor<4x3xi32>
  return
}

// -----

func.func @gather_without_dim(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>) {
  // expected-error @below {{'pp.gather' op requires attribute 'dim'}}
  %0 = pp.gather %x, %ids : tensor<4x8xf32>, tensor<4x3xi32>
  return
}

// -----

func.func @gather_shapes(%x: tensor<4x8xf32>, %ids: tensor<3x3xi32>) {
  // expected-error @below {{'pp.gather' op ids of 'tensor<3x3xi32>' and x of 'tensor<4x8xf32>' differ in more than dimension 1; pp.broadcast ids, or pp.slice x}}
  %0 = pp.gather %x, %ids {dim = 1 : i64} : tensor<4x8xf32>, tensor<3x3xi32>
  return
}

// -----

func.func @scatter_dim(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x3xf32>) {
  // expected-error @below {{'pp.scatter_add' op dim -1 is no dimension of 'tensor<4x8xf32>'}}
  %0 = pp.scatter_add %x, %ids, %updates {dim = -1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  return
}

// -----

func.func @scatter_shapes(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x2xf32>) {
  // expected-error @below {{'pp.scatter_add' op ids of 'tensor<4x3xi32>' and updates of 'tensor<4x2xf32>' do not fit x of 'tensor<4x8xf32>': both have one shape, which differs from x's in dimension 1 alone}}
  %0 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x2xf32>
  return
}

// -----

func.func @constant_ids(%x: tensor<4x8xf32>) {
  %ids = pp.constant dense<[[0], [7], [8], [1]]> : tensor<4x1xi32>
  // expected-error @below {{'pp.gather' op has the id 8, which is not in [0, 8)}}
  %0 = pp.gather %x, %ids {dim = 1 : i64, in_range} : tensor<4x8xf32>, tensor<4x1xi32>
  return
}

// -----

func.func @replaced_shapes(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x2xf32>) {
  // expected-error @below {{'pp.scatter' op ids of 'tensor<4x3xi32>' and updates of 'tensor<4x2xf32>' do not fit x of 'tensor<4x8xf32>': both have one shape, which differs from x's in dimension 1 alone}}
  %0 = pp.scatter %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x2xf32>
  return
}

// -----

func.func @scatter_types(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x3xf64>) {
  // expected-error @below {{'pp.scatter_add' op element types of 'tensor<4x8xf32>' and 'tensor<4x3xf64>' differ; pp.cast changes them}}
  %0 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf64>
  return
}

// -----

func.func @one_hot_shape(%ids: tensor<4xi32>) {
  // expected-error @below {{'pp.one_hot' op result of 'tensor<5x8xf32>' is not the shape of ids of 'tensor<4xi32>' with a dimension of classes after it}}
  %0 = pp.one_hot %ids : tensor<4xi32> to tensor<5x8xf32>
  return
}

// -----

func.func @top_k_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.top_k' op k is 9, but dimension 1 of 'tensor<4x8xf32>' has 1 to 8 elements to take}}
  %values, %ids = pp.top_k %x {k = 9 : i64, dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x9xf32>, tensor<4x9xi32>
  return
}

// -----

func.func @top_k_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.top_k' op results of 'tensor<4x2xf32>' and 'tensor<4x3xi32>' have not the shape of 'tensor<4x8xf32>' with 2 elements along dimension 1}}
  %values, %ids = pp.top_k %x {k = 2 : i64, dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x3xi32>
  return
}

// -----

func.func @top_k_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.top_k' op values of 'tensor<4x2xf64>' have another element type than 'tensor<4x8xf32>'}}
  %values, %ids = pp.top_k %x {k = 2 : i64, dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x2xf64>, tensor<4x2xi32>
  return
}

// -----

func.func @sort_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.sort' op ids of 'tensor<4x2xi32>' have another shape than x of 'tensor<4x8xf32>'}}
  %values, %ids = pp.sort %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x2xi32>
  return
}

// -----

func.func @order_rows(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.order' op result of 'tensor<3x2xi64>' has not the rows of 'tensor<4x8xf32>', each with as many elements or fewer}}
  %0 = pp.order %x : tensor<4x8xf32> to tensor<3x2xi64>
  return
}

// -----

func.func @order_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.order' op result is of i64, got 'tensor<4x2xi32>'}}
  %0 = pp.order %x : tensor<4x8xf32> to tensor<4x2xi32>
  return
}

// -----

func.func @order_count(%x: tensor<4x800xf32>) {
  // expected-error @below {{'pp.order' op selects 200 elements of each row, but at most 128, or all}}
  %0 = pp.order %x : tensor<4x800xf32> to tensor<4x200xi64>
  return
}

// -----

func.func @cumsum_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.cumsum' op dim 2 is no dimension of 'tensor<4x8xf32>'}}
  %0 = pp.cumsum %x {dim = 2 : i64} : tensor<4x8xf32>
  return
}

// -----

func.func @tril_rank(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.tril' op needs two dimensions or more, got 'tensor<8xf32>'}}
  %0 = pp.tril %x : tensor<8xf32>
  return
}

// -----

func.func @roll_dim(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.roll' op dim 1 is no dimension of 'tensor<8xf32>'}}
  %0 = pp.roll %x {shift = 1 : i64, dim = 1 : i64} : tensor<8xf32>
  return
}

// -----

func.func @any_of_numbers(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.reduce' op can't be any of 'tensor<8xf32>': any and all are of i1, the others of numbers}}
  %0 = pp.reduce any %x [0] : tensor<8xf32>
  return
}

// -----

func.func @dispatch_shapes(%x: tensor<2x4x8xf32>, %experts: tensor<2x5x2xi32>) {
  // expected-error @below {{'pp.dispatch' op tokens of 'tensor<2x4x8xf32>', buffers of 'tensor<2x3x5x8xf32>' and experts of 'tensor<2x5x2xi32>' do not fit: they are [B, T, D], [B, E, C, D] and [B, T, k]}}
  %0 = pp.dispatch %x, %experts : tensor<2x4x8xf32>, tensor<2x5x2xi32> to tensor<2x3x5x8xf32>
  return
}

// -----

func.func @dispatch_types(%x: tensor<2x4x8xf32>, %experts: tensor<2x4x2xi32>) {
  // expected-error @below {{'pp.dispatch' op element types of 'tensor<2x4x8xf32>' and 'tensor<2x3x5x8xf64>' differ; pp.cast changes them}}
  %0 = pp.dispatch %x, %experts : tensor<2x4x8xf32>, tensor<2x4x2xi32> to tensor<2x3x5x8xf64>
  return
}

// -----

func.func @combine_weights(%y: tensor<2x3x5x8xf32>, %experts: tensor<2x4x2xi32>, %weights: tensor<2x4x1xf32>) {
  // expected-error @below {{'pp.combine' op weights of 'tensor<2x4x1xf32>' are not one for each of the experts of 'tensor<2x4x2xi32>'}}
  %0 = pp.combine %y, %experts, %weights : tensor<2x3x5x8xf32>, tensor<2x4x2xi32>, tensor<2x4x1xf32> to tensor<2x4x8xf32>
  return
}
