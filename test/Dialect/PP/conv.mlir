// RUN: %ppopt opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @windows
func.func @windows(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) {
  // CHECK: pp.conv %{{.*}}, %{{.*}} : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  // CHECK: pp.conv %{{.*}}, %{{.*}} strides [-2] dilations [-1] offsets [7] spreads [2] : {{.*}} to tensor<2x1x4x5xf32>
  %1 = pp.conv %x, %w strides [-2] dilations [-1] offsets [7] spreads [2] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x5xf32>
  return
}

// -----

func.func @no_spatial_dimension(%x: tensor<2x1x3xf32>, %w: tensor<1x4x3xf32>) {
  // expected-error @below {{'pp.conv' op x of 'tensor<2x1x3xf32>' has no spatial dimension: it is [B, G, C, S...], with one group if there are no others}}
  %0 = pp.conv %x, %w : tensor<2x1x3xf32>, tensor<1x4x3xf32> to tensor<2x1x4xf32>
  return
}

// -----

func.func @ranks(%x: tensor<2x3x8xf32>, %w: tensor<1x4x3x3xf32>, %y: tensor<2x1x3x8xf32>) {
  // expected-error @below {{'pp.conv' op x, w and the result have 4, 4 and 3 dimensions; they need as many}}
  %0 = pp.conv %y, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x4x6xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x1x3x8xf32>, %w: tensor<3x4x1x3xf32>) {
  // expected-error @below {{'pp.conv' op x of 'tensor<2x1x3x8xf32>' has 1 groups of 3 channels, and w of 'tensor<3x4x1x3xf32>' is for 3 of 1}}
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<3x4x1x3xf32> to tensor<2x3x4x6xf32>
  return
}

// -----

func.func @result(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) {
  // expected-error @below {{'pp.conv' op result of 'tensor<2x1x5x6xf32>' has to begin with 2x1x4: B of x, G and O of w}}
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x5x6xf32>
  return
}

// -----

func.func @number_of_strides(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) {
  // expected-error @below {{'pp.conv' op has 2 strides for 1 spatial dimensions}}
  %0 = pp.conv %x, %w strides [2, 2] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  return
}

// -----

func.func @dilation_of_zero(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) {
  // expected-error @below {{'pp.conv' op has 0 among its dilations, which are from -1048576 to 1048576, without 0}}
  %0 = pp.conv %x, %w dilations [0] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  return
}

// -----

func.func @spread(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) {
  // expected-error @below {{'pp.conv' op has -1 among its spreads, which are from 1 to 1048576}}
  %0 = pp.conv %x, %w spreads [-1] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  return
}
