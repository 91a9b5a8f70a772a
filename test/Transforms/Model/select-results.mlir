// The program that trains keeps the loss and metrics; the one that predicts keeps the outputs, and has a zero in place of the loss.
// RUN: ppopt opt --pp-select-results %s | FileCheck %s --check-prefix=TRAINS
// RUN: ppopt opt --pp-select-results=predicts %s | FileCheck %s --check-prefix=PREDICTS

// TRAINS: -> (tensor<f64>, tensor<f32> {pp.metric = "m"}) {
// TRAINS: %[[L:.*]] = pp.reduce
// TRAINS: %[[M:.*]] = pp.reduce
// TRAINS: return %[[L]], %[[M]] : tensor<f64>, tensor<f32>

// PREDICTS: -> (tensor<f64>, tensor<4x3xf32> {pp.output = "last"}, tensor<4x3xf64> {pp.output = "input"}) {
// PREDICTS: %[[T:.*]] = pp.tanh
// PREDICTS: %[[Z:.*]] = pp.constant dense<0.000000e+00> : tensor<f64>
// PREDICTS: return %[[Z]], %[[T]], %arg0 : tensor<f64>, tensor<4x3xf32>, tensor<4x3xf64>
func.func @main(%x: tensor<4x3xf64> {pp.input = "x"}, %y: tensor<4x3xf32> {pp.input = "y"})
    -> (tensor<f64>, tensor<4x3xf32> {pp.output = "last"}, tensor<f32> {pp.metric = "m"}, tensor<4x3xf64> {pp.output = "input"}) {
  %loss = pp.reduce sum %x [0, 1] : tensor<4x3xf64>
  %t = pp.tanh %y : tensor<4x3xf32>
  %m = pp.reduce mean %t [0, 1] : tensor<4x3xf32>
  return %loss, %t, %m, %x : tensor<f64>, tensor<4x3xf32>, tensor<f32>, tensor<4x3xf64>
}
