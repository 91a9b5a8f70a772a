// RUN: ppopt opt %s --pp-form-kernels --split-input-file | FileCheck %s

// Sums of different types are one kernel that reads what both read once.
// CHECK-LABEL: pp.task backward stage 0 @types
// CHECK-NEXT: %[[S:.*]]:2 = pp.launch @cast_reduce_6x8 ins(%arg0 : tensor<6x8xbf16>)
// CHECK-NEXT: pp.return %[[S]]#0, %[[S]]#1
pp.task backward stage 0 @types(%x: tensor<6x8xbf16> {pp.role = #pp.role<saved, "x">})
    -> (tensor<8xf32> {pp.role = #pp.role<saved, "a">}, tensor<8xf64> {pp.role = #pp.role<saved, "b">}) {
  %0 = pp.cast %x : tensor<6x8xbf16> to tensor<6x8xf32>
  %1 = pp.cast %x : tensor<6x8xbf16> to tensor<6x8xf64>
  %2 = pp.reduce sum %0 [0] : tensor<6x8xf32>
  %3 = pp.reduce sum %1 [0] : tensor<6x8xf64>
  pp.return %2, %3 : tensor<8xf32>, tensor<8xf64>
}
