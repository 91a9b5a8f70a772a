// RUN: %mutate opt %s --test-print-json -o /dev/null | FileCheck %s

// Keys are in alphabetical order; values are numbered in the order of definitions.
// CHECK: {"arguments":[
// CHECK-SAME: {"attributes":{"pp.input":"x","pp.sharding":{"dims":{{\[\[}}{"axis":"dp","outer":1},{"axis":"mb","outer":1}],[]],"max":[],"sum":[]}},"shape":[4,6],"type":"f64","value":0},{"attributes":{"pp.role":"#pp.role<step_state, \"key\">"},"shape":[15],"type":"i64","value":1}],"ops":[
// CHECK-SAME: {"attributes":{"init":"#pp.init<zeros>","param_name":"w","place":0,"pp.shardings":[{"dims":{{\[\[}}],[{"axis":"tp","outer":3}]],"max":["mb"],"sum":["dp","sp"]}]},"location":"{{[^"]*}}/print-json.mlir:{{[0-9]+}}:8","op":"pp.param","operands":[],"results":[{"shape":[6,6],"type":"f64","value":2}]}
// CHECK-SAME: {"attributes":{"place":0,"stage":0},"body":[
// CHECK-SAME: {"attributes":{"value":{"shape":[2,2],"type":"f64","values":[0.5,"inf",-1,"nan"]}},
// CHECK-SAME: {"attributes":{"value":{"shape":[3],"splat":7,"type":"i32"}},
// CHECK-SAME: {"attributes":{"value":{"shape":[2],"type":"i1","values":[true,false]}},
// CHECK-SAME: {"attributes":{"dim":1,"tile":{"cuts":[{"at":5,"axis":"tp","dim":1,"parts":2,"period":4},{"at":4,"axis":"dp","dim":1,"parts":2,"period":2}],"shape":[3,4]}},{{.*}}"op":"pp.iota","operands":[1],
// CHECK-SAME: {"attributes":{"transpose_rhs":true},{{.*}}"op":"pp.matmul","operands":[0,2],"results":[{"shape":[4,6],"type":"f64","value":7}]}
// CHECK-SAME: {"attributes":{"dims":[0,1],"kind":"max"},{{.*}}"op":"pp.reduce","operands":[7],
// CHECK-SAME: {"attributes":{"predicate":"lt"},{{.*}}"op":"pp.compare","operands":[8,8],
// CHECK-SAME: {"attributes":{},{{.*}}"op":"pp.yield","operands":[8],"results":[]}],
// CHECK-SAME: "op":"pp.place","operands":[],"results":[{"shape":[],"type":"f64","value":10}]}
// CHECK-SAME: "op":"func.return","operands":[10],"results":[]}],"plan":{"batch":8,"mesh":[{"axis":"dp","size":2},{"axis":"tp","size":2}],"microbatches":1,"schedule":"1f1b",
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<4x6xf64> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}, %key: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64, pp.shardings = [#pp.sharding<[{}, {3 * tp}], sum = {dp, sp}, max = {mb}>]} : tensor<6x6xf64>
  %top = pp.place 0 stage 0 -> tensor<f64> {
    %0 = pp.constant dense<[[0.5, 0x7FF0000000000000], [-1.0, 0x7FF8000000000000]]> : tensor<2x2xf64>
    %1 = pp.constant dense<7> : tensor<3xi32>
    %2 = pp.constant dense<[true, false]> : tensor<2xi1>
    %i = pp.iota %key : tensor<15xi64> {dim = 1 : i64, tile = #pp.tile<[{dim = 1, axis = tp, at = 5, parts = 2, period = 4}, {dim = 1, axis = dp, at = 4, parts = 2, period = 2}], [3, 4]>} -> tensor<3x1xi32>
    %3 = pp.matmul %x, %w {transpose_rhs} : tensor<4x6xf64>, tensor<6x6xf64>
    %4 = pp.reduce max %3 [0, 1] : tensor<4x6xf64>
    %5 = pp.compare lt %4, %4 : tensor<f64>, tensor<f64>
    pp.yield %4 : tensor<f64>
  }
  return %top : tensor<f64>
}
