// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1,pp=2" --pp-place-ops --split-input-file | FileCheck %s

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// A V, 0 -> 1 -> 0: the value that both later stages read is copied once, goes to the second
// stage of its own place without a copy, and the tied parameter stands once.
// CHECK-LABEL: func.func @vee
// CHECK: %[[A:.*]] = pp.param "a" {init = #pp.init<zeros>, place = 0 : i64}
// CHECK: %[[B:.*]] = pp.param "b" {init = #pp.init<zeros>, place = 1 : i64}
// CHECK: %[[S0:.*]] = pp.place 0 stage 0 -> tensor<8x4xf32> {
// CHECK-NEXT: pp.matmul %arg0, %[[A]]
// CHECK: %[[C0:.*]] = pp.copy %[[S0]] from 0 to 1 {id = 0 : i64}
// CHECK-NEXT: %[[S1:.*]] = pp.place 1 stage 1 -> tensor<8x4xf32> {
// CHECK-NEXT: pp.matmul %[[C0]], %[[B]]
// CHECK: %[[C1:.*]] = pp.copy %[[S1]] from 1 to 0 {id = 1 : i64}
// CHECK-NEXT: %[[S2:.*]] = pp.place 0 stage 2 -> tensor<f32> {
// CHECK-NEXT: %[[M:.*]] = pp.matmul %[[C1]], %[[A]]
// CHECK-NEXT: pp.add %[[M]], %[[S0]]
// CHECK: return %[[S2]]
func.func @vee(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<zeros>} : !w
  %b = pp.param "b" {init = #pp.init<zeros>} : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    pp.yield %m : !x
  }
  %1 = pp.on 1 -> !x {
    %m = pp.matmul %0, %b : !x, !w
    pp.yield %m : !x
  }
  %2 = pp.on 0 -> !x {
    %m = pp.matmul %1, %a : !x, !w
    %s = pp.add %m, %0 : !x, !x
    pp.yield %s : !x
  }
  %3 = pp.reduce sum %2 [0, 1] : !x
  return %3 : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// A parameter that two places use stands on each. Inputs are read where they are used; what
// follows from them cheaply is computed there, and never copied. Equal ops of two places stay two.
// CHECK-LABEL: func.func @tied
// CHECK-DAG: %[[W0:.*]] = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64}
// CHECK-DAG: %[[W1:.*]] = pp.param "w" {init = #pp.init<zeros>, place = 1 : i64}
// CHECK: pp.place 0 stage 0
// CHECK-NEXT: %[[MASK0:.*]] = pp.relu %arg0
// CHECK-NEXT: pp.matmul %[[MASK0]], %[[W0]]
// CHECK: pp.copy
// CHECK-NOT: pp.copy
// CHECK: pp.place 1 stage 1
// CHECK-NEXT: %[[MASK1:.*]] = pp.relu %arg0
// CHECK-NEXT: pp.mul %{{.*}}, %[[MASK1]]
// CHECK-NEXT: pp.matmul %{{.*}}, %[[W1]]
func.func @tied(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : !w
  %mask = pp.relu %x : !x
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %mask, %w : !x, !w
    pp.yield %m : !x
  }
  %l = pp.on 1 -> tensor<f32> {
    %m = pp.mul %0, %mask : !x, !x
    %n = pp.matmul %m, %w : !x, !w
    %s = pp.reduce sum %n [0, 1] : !x
    pp.yield %s : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// Two towers that know nothing of each other, joined later: a stage each, and the
// join belongs to the one on its place.
// CHECK-LABEL: func.func @towers
// CHECK: pp.place 0 stage 0
// CHECK: pp.copy
// CHECK: pp.place 1 stage 1
// CHECK: pp.reduce
// CHECK-NOT: pp.place
func.func @towers(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<zeros>} : !w
  %b = pp.param "b" {init = #pp.init<zeros>} : !w
  %1 = pp.on 1 -> !x {
    %m = pp.matmul %y, %b : !x, !w
    pp.yield %m : !x
  }
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    pp.yield %m : !x
  }
  %2 = pp.on 1 -> !x {
    %m = pp.mul %0, %1 : !x, !x
    pp.yield %m : !x
  }
  %3 = pp.reduce sum %2 [0, 1] : !x
  return %3 : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// 0 -> 1 and, independently, 1 -> 0: two stages on one place, three in all.
// CHECK-LABEL: func.func @crossed
// CHECK: pp.place 0 stage 0
// CHECK: pp.place 1 stage 1
// CHECK: pp.place 0 stage 2
// CHECK-NOT: pp.place
func.func @crossed(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<zeros>} : !w
  %b = pp.param "b" {init = #pp.init<zeros>} : !w
  %c = pp.param "c" {init = #pp.init<zeros>} : !w
  %d = pp.param "d" {init = #pp.init<zeros>} : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    pp.yield %m : !x
  }
  %1 = pp.on 1 -> !x {
    %m = pp.matmul %x, %b : !x, !w
    pp.yield %m : !x
  }
  %2 = pp.on 0 -> !x {
    %m = pp.matmul %1, %c : !x, !w
    pp.yield %m : !x
  }
  %3 = pp.on 1 -> !x {
    %m = pp.matmul %0, %d : !x, !w
    pp.yield %m : !x
  }
  %s = pp.on 0 -> !x {
    %m = pp.add %2, %3 : !x, !x
    pp.yield %m : !x
  }
  %l = pp.reduce sum %s [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// An inner mark holds against an outer one. Unmarked ops: the latest of the operands decides;
// before any mark the first user; a penalty on a parameter stays where the parameter is used.
// CHECK-LABEL: func.func @unmarked
// CHECK: pp.param "a" {{.*}}place = 0
// CHECK: pp.param "b" {{.*}}place = 1
// CHECK-NOT: pp.param
// CHECK: %[[S0:.*]]:2 = pp.place 0 stage 0
// CHECK-DAG: pp.matmul %arg0
// CHECK-DAG: pp.relu
// CHECK-DAG: %[[SQUARES:.*]] = pp.mul
// CHECK-DAG: pp.reduce sum %[[SQUARES]]
// CHECK: pp.yield %{{.*}}, %{{.*}} : tensor
// CHECK: pp.copy %[[S0]]#{{.}} from 0 to 1 {id = 0 : i64}
// CHECK: pp.copy %[[S0]]#{{.}} from 0 to 1 {id = 1 : i64}
// CHECK: pp.place 1 stage 1
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.exp
func.func @unmarked(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<zeros>} : !w
  %b = pp.param "b" {init = #pp.init<zeros>} : !w
  %first = pp.matmul %x, %a : !x, !w
  %1 = pp.on 1 -> !x {
    %0 = pp.on 0 -> !x {
      %r = pp.relu %first : !x
      pp.yield %r : !x
    }
    %m = pp.matmul %0, %b : !x, !w
    pp.yield %m : !x
  }
  %e = pp.exp %1 : !x
  %s = pp.reduce sum %e [0, 1] : !x
  %squares = pp.mul %a, %a : !w, !w
  %penalty = pp.reduce sum %squares [0, 1] : !w
  %l = pp.add %s, %penalty : tensor<f32>, tensor<f32>
  return %l : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// What is read of a parameter by cheap ops alone goes to its reader: the parameter is tied,
// its transpose is not sent.
// CHECK-LABEL: func.func @transposed
// CHECK-DAG: %[[W0:.*]] = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64}
// CHECK-DAG: %[[W1:.*]] = pp.param "w" {init = #pp.init<zeros>, place = 1 : i64}
// CHECK: pp.place 0 stage 0
// CHECK: pp.copy
// CHECK-NOT: pp.copy
// CHECK: pp.place 1 stage 1
// CHECK-NEXT: pp.transpose %[[W1]]
func.func @transposed(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : !w
  %t = pp.transpose %w [1, 0] : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %w : !x, !w
    pp.yield %m : !x
  }
  %1 = pp.on 1 -> !x {
    %m = pp.matmul %0, %t : !x, !w
    pp.yield %m : !x
  }
  %l = pp.reduce sum %1 [0, 1] : !x
  return %l : tensor<f32>
}
