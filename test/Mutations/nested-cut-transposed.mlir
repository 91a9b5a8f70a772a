// RUN: %mutate opt %s --mutate-nested-cut-transposed | FileCheck %s
// RUN: sed 's/3 [*] tp, //' %s | not %mutate opt --mutate-nested-cut-transposed 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no dimension of a parameter that two axes cut to change

// CHECK: pp.param_decl "v" {{.*}}pp.sharding = #pp.sharding<[{tp}, {sp}]>
// CHECK: pp.param_decl "w" {{.*}}pp.sharding = #pp.sharding<[{}, {3 * sp, 3 * tp}]>
pp.param_decl "v" {type = tensor<2x3xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{tp}, {sp}]>}
pp.param_decl "w" {type = tensor<4x6xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{}, {3 * tp, 3 * sp}]>}
