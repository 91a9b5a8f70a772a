// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2 optimizer=sgd" | FileCheck %s
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1,pp=2 schedule=zb-v stage-places=0,1,1,0 launch=local tied=owner device-memory=4096" | FileCheck %s --check-prefix=PLACES
// RUN: not ppopt opt %s --pp-insert-plan="mesh=dp=3" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: not ppopt opt %s --pp-insert-plan="mesh=dp=2,mb=2" 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: not ppopt opt %s --pp-insert-plan="mesh=dp" 2>&1 | FileCheck %s --check-prefix=MESH

// CHECK: pp.plan {batch = 8 : i64
// CHECK-SAME: mesh = [#pp.axis<"dp" = 2>], microbatches = 2 : i64, optimizer = "sgd"
// PLACES: pp.plan {
// PLACES-SAME: device_memory = 4096 : i64
// PLACES-SAME: launch = "local", mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>]
// PLACES-SAME: schedule = "zb-v", stage_places = array<i64: 0, 1, 1, 0>
// PLACES-SAME: tied = "owner"
// UNEVEN: insert-plan.mlir:[[@LINE+3]]:{{[0-9]+}}: error: 'pp.plan' op batch of 8 rows is not divided by dp 3 x microbatches 1; choose --batch a multiple of 3
// TIME: error: 'pp.plan' op the mesh has an axis 'mb', which is the name of the axis of microbatches; give it another name
// MESH: error: mesh 'dp' is not a list like dp=2,pp=4
func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<8x2xf32>
  return %0 : tensor<f32>
}
