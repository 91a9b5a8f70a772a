// RUN: %ppopt opt %s --pp-test-iteration-space -verify-diagnostics

func.func @leaves() {
  // expected-remark @below {{a=4 b=8:  -> [a, b].}}
  %0 = pp.param "w" {init = #pp.init<zeros>} : tensor<4x8xf32>
  // expected-remark @below {{a=2:  -> [a].}}
  %1 = pp.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // expected-remark @below {{a=4 b=8:  -> [a, b].}}
  %2 = pp.iota {dim = 1 : i64} -> tensor<4x8xi32>
  return
}

// An iota whose tile cuts its dimension reads the random key, which has no loops.
func.func @tiled(%key: tensor<15xi64>, %x: tensor<4x8xf32>) {
  // expected-remark @below {{a=4 b=8: [.] -> [a, b]; needs the random key.}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16, 8]>} -> tensor<4x8xi32>
  // expected-remark @below {{a=4 b=8: [a, b], [.] -> [a, b]; linear in {0}; needs the random key.}}
  %1 = pp.dropout %x key %key : tensor<15xi64> {p = 0.5 : f64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [.] -> [a, b]; linear in {0}; needs the random key.}}
  %2 = pp.mask_rows %x key %key : tensor<15xi64> {dim = 0 : i64, period = 4 : i64, rows = 4 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; needs the random key.}}
  %3 = pp.mask_rows %x {dim = 0 : i64, period = 4 : i64, rows = 4 : i64, fill = 1 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [.] -> [a, b]; linear in {0}; needs the random key.}}
  %4 = pp.evaluation_share %x key %key : tensor<15xi64> {rows = 4 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=1 b=8 c=4(replicate): [c, b], [.] -> [a, b]; linear in {0}; needs the random key.}}
  %5 = pp.own_part %x key %key : tensor<15xi64> {at = 4 : i64, dim = 0 : i64} : tensor<4x8xf32> to tensor<1x8xf32>
  return
}

// Pairs of a row depend on one another. Positions are of all rows, or of each.
func.func @positions(%x: tensor<2x3x5x8xf32>, %p: tensor<2x5xi32>, %q: tensor<5xi32>, %h: tensor<3x5x2x4xf32>, %t: tensor<5x1x4xf32>) {
  // expected-remark @below {{a=2 b=3 c=5 d=8(replicate): [a, b, c, d] -> [a, b, c, d].}}
  %0 = pp.rotary %x : tensor<2x3x5x8xf32>
  // expected-remark @below {{a=2 b=3 c=5 d=8(replicate): [a, b, c, d], [a, c] -> [a, b, c, d].}}
  %1 = pp.rotary %x at %p : tensor<2x3x5x8xf32>, tensor<2x5xi32>
  // expected-remark @below {{a=2 b=3 c=5 d=8(replicate): [a, b, c, d], [c] -> [a, b, c, d].}}
  %2 = pp.rotary %x at %q : tensor<2x3x5x8xf32>, tensor<5xi32>
  // expected-remark @below {{a=3 b=5 c=2(replicate) d=4: [a, b, c, d], [b, ., d], [b, ., d] -> [a, b, c, d]; linear in {0}.}}
  %3 = pp.rotate %h, %t, %t {dim = 2 : i64} : tensor<3x5x2x4xf32>, tensor<5x1x4xf32>
  return
}

func.func @random(%key: tensor<15xi64>) {
  // expected-remark @below {{a=4 b=8: [.] -> [a, b]; needs the random key.}}
  %0 = pp.random normal key %key : tensor<15xi64> -> tensor<4x8xf32>
  return
}

func.func @elementwise(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %u: tensor<4x1xf32>, %s: tensor<f32>) {
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %0 = pp.neg %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %1 = pp.exp %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %20 = pp.atan %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %21 = pp.mish %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %22 = pp.hardsigmoid %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %23 = pp.hardswish %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %24 = pp.leaky_relu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %25 = pp.elu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [b] -> [a, b]; linear in {0, 1}.}}
  %2 = pp.add %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // expected-remark @below {{a=4 b=8: [a, .], [b] -> [a, b]; linear in {0, 1}.}}
  %3 = pp.sub %u, %b : tensor<4x1xf32>, tensor<8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [] -> [a, b]; linear in {0}, {1}.}}
  %4 = pp.mul %x, %s : tensor<4x8xf32>, tensor<f32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, .] -> [a, b]; linear in {0}.}}
  %5 = pp.div %x, %u : tensor<4x8xf32>, tensor<4x1xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b].}}
  %6 = pp.maximum %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b].}}
  %7 = pp.compare lt %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b], [b] -> [a, b]; linear in {1, 2}.}}
  %8 = pp.select %7, %x, %b : tensor<4x8xi1>, tensor<4x8xf32>, tensor<8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %9 = pp.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %10 = pp.cast %x : tensor<4x8xf32> to tensor<4x8xi32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %11 = pp.detach %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b]; linear in {1}.}}
  %12 = pp.gelu_grad %x, %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b]; linear in {0, 1}.}}
  %13 = pp.accumulate %x, %x : tensor<4x8xf32>
  return
}

func.func @unary(%x: tensor<4x8xf32>) {
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %0 = pp.abs %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %1 = pp.log %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %2 = pp.sqrt %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %3 = pp.rsqrt %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %4 = pp.tanh %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %5 = pp.erf %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %6 = pp.sigmoid %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %7 = pp.softplus %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %8 = pp.relu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %9 = pp.silu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %10 = pp.gelu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %11 = pp.checkpoint %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b].}}
  %12 = pp.minimum %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %13 = pp.copy %x from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %14 = pp.expm1 %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %15 = pp.log1p %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %16 = pp.sin %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %17 = pp.cos %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %18 = pp.sign %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %19 = pp.floor %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %20 = pp.ceil %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %21 = pp.round %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %22 = pp.pow %x {exponent = 2.0 : f64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b].}}
  %23 = pp.clamp %x {min = 0.0 : f64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b].}}
  %24 = pp.power %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// Dimensions of size 1 on both sides are one loop, not a broadcast.
func.func @one_row(%x: tensor<1x8xf32>, %y: tensor<1x8xf32>) {
  // expected-remark @below {{a=1 b=8: [a, b], [a, b] -> [a, b]; linear in {0, 1}.}}
  %0 = pp.add %x, %y : tensor<1x8xf32>, tensor<1x8xf32>
  return
}

func.func @reshape(%x: tensor<8x128xf32>, %y: tensor<6x4xf32>, %z: tensor<3x4xf32>, %u: tensor<1x8x1xf32>, %s: tensor<f32>) {
  // expected-remark @below {{a=8 b=128: [a, b] -> [ab]; linear in {0}.}}
  %0 = pp.reshape %x : tensor<8x128xf32> to tensor<1024xf32>
  // expected-remark @below {{a=8 b=128: [ab] -> [a, b]; linear in {0}.}}
  %1 = pp.reshape %0 : tensor<1024xf32> to tensor<8x128xf32>
  // expected-remark @below {{a=8 b=4 c=32: [a, bc] -> [ab, c]; linear in {0}.}}
  %2 = pp.reshape %x : tensor<8x128xf32> to tensor<32x32xf32>
  // expected-remark @below {{a=2 b=3(replicate) c=4(replicate) d=4(replicate) e=3(replicate): [ab, d] -> [ac, e]; linear in {0}.}}
  %3 = pp.reshape %y : tensor<6x4xf32> to tensor<8x3xf32>
  // expected-remark @below {{a=3(replicate) b=4(replicate) c=4(replicate) d=3(replicate): [a, c] -> [b, d]; linear in {0}.}}
  %4 = pp.reshape %z : tensor<3x4xf32> to tensor<4x3xf32>
  // expected-remark @below {{a=1 b=8: [a, b, .] -> [a, b]; linear in {0}.}}
  %5 = pp.reshape %u : tensor<1x8x1xf32> to tensor<1x8xf32>
  // expected-remark @below {{a=8: [., a, .] -> [a]; linear in {0}.}}
  %6 = pp.reshape %u : tensor<1x8x1xf32> to tensor<8xf32>
  // expected-remark @below {{: [] -> [., .]; linear in {0}.}}
  %7 = pp.reshape %s : tensor<f32> to tensor<1x1xf32>
  return
}

func.func @shape(%x: tensor<4x8xf32>, %u: tensor<4x1xf32>) {
  // expected-remark @below {{a=8 b=4: [b, a] -> [a, b]; linear in {0}.}}
  %0 = pp.transpose %x [1, 0] : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=2(permute) c=4(replicate) d=2(replicate): [a, cb] -> [a, db]; linear in {0}.}}
  %1 = pp.slice %x [0, 2] : tensor<4x8xf32> to tensor<4x4xf32>
  // expected-remark @below {{a=4 b=1(permute) c=8(replicate) d=4(replicate): [a, cb] -> [a, db]; linear in {0}.}}
  %2 = pp.slice %x [0, 3] : tensor<4x8xf32> to tensor<4x4xf32>
  // expected-remark @below {{a=4 b=4(permute) c=2(replicate) d=3(replicate): [a, cb] -> [a, db]; linear in {0}.}}
  %3 = pp.pad %x [0, 4] : tensor<4x8xf32> to tensor<4x12xf32>
  // expected-remark @below {{a=4 b=1(permute) c=8(replicate) d=1(replicate) e=9(replicate): [a, cb], [a, db] -> [a, eb]; linear in {0, 1}.}}
  %4 = pp.concat %x, %u {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x1xf32>
  // expected-remark @below {{a=4 b=4(permute) c=2(replicate) d=1(replicate) e=3(replicate): [a, cb], [a, db] -> [a, eb]; linear in {0, 1}.}}
  %5 = pp.concat %x, %1 {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x4xf32>
  // A single operand has both loops too: elements move by what the op means, not by its sizes.
  // expected-remark @below {{a=4 b=8(permute) c=1(replicate) d=1(replicate): [a, cb] -> [a, db]; linear in {0}.}}
  %6 = pp.concat %x {dim = 1 : i64} : tensor<4x8xf32>
  // Dimensions in which nothing moves are shared.
  // expected-remark @below {{a=2(permute) b=8 c=2(replicate) d=1(replicate): [ca, b] -> [da, b]; linear in {0}.}}
  %7 = pp.slice %x [2, 0] : tensor<4x8xf32> to tensor<2x8xf32>
  // expected-remark @below {{a=2 b=4 c=8: [b, .] -> [a, b, c]; linear in {0}.}}
  %8 = pp.broadcast %u [1, 2] : tensor<4x1xf32> to tensor<2x4x8xf32>
  return
}

func.func @reduce(%x: tensor<4x8x2xf32>) {
  // expected-remark @below {{a=4(sum) b=8 c=2(sum): [a, b, c] -> [b]; linear in {0}.}}
  %0 = pp.reduce sum %x [0, 2] : tensor<4x8x2xf32>
  // expected-remark @below {{a=4 b=8(sum) c=2: [a, b, c] -> [a, ., c]; linear in {0}.}}
  %1 = pp.reduce mean %x [1] {keep_dims} : tensor<4x8x2xf32>
  // expected-remark @below {{a=4 b=8(max) c=2: [a, b, c] -> [a, c].}}
  %2 = pp.reduce max %x [1] : tensor<4x8x2xf32>
  // expected-remark @below {{a=4 b=8(max) c=2: [a, b, c] -> [a, c].}}
  %3 = pp.argmin %x {dim = 1 : i64} : tensor<4x8x2xf32>
  // expected-remark @below {{a=4 b=8 c=2(max): [a, b, c] -> [a, b].}}
  %4 = pp.argmax %x {dim = 2 : i64} : tensor<4x8x2xf32>
  return
}

func.func @matmul(%x: tensor<2x3x4x8xf32>, %y: tensor<2x3x5x8xf32>, %w: tensor<8x5xf32>, %z: tensor<8x4xf32>) {
  // expected-remark @below {{a=2 b=3 c=4 d=5 e=8(sum): [a, b, c, e], [e, d] -> [a, b, c, d]; linear in {0}, {1}.}}
  %0 = pp.matmul %x, %w : tensor<2x3x4x8xf32>, tensor<8x5xf32>
  // expected-remark @below {{a=2 b=3 c=4 d=5 e=8(sum): [a, b, c, e], [a, b, d, e] -> [a, b, c, d]; linear in {0}, {1}.}}
  %1 = pp.matmul %x, %y {transpose_rhs} : tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>
  // expected-remark @below {{a=4 b=5 c=8(sum): [c, a], [c, b] -> [a, b]; linear in {0}, {1}.}}
  %2 = pp.matmul %z, %w {transpose_lhs} : tensor<8x4xf32>, tensor<8x5xf32>
  return
}

func.func @rows(%x: tensor<4x8xf32>, %v: tensor<8xf32>) {
  // expected-remark @below {{a=4 b=8(replicate): [a, b] -> [a, b].}}
  %0 = pp.softmax %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b], [a, b] -> [a, b]; linear in {1}.}}
  %1 = pp.softmax_grad %0, %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b] -> [a, b].}}
  %2 = pp.log_softmax %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b], [a, b] -> [a, b]; linear in {1}.}}
  %3 = pp.log_softmax_grad %2, %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b] -> [a, b].}}
  %4 = pp.normalize %x {eps = 1.0e-5 : f64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b], [a, b] -> [a, b]; linear in {1}.}}
  %5 = pp.normalize_grad %x, %x {eps = 1.0e-5 : f64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b], [b], [b] -> [a, b].}}
  %6 = pp.layer_norm %x, %v, %v : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b], [b] -> [a, b].}}
  %7 = pp.rms_norm %x, %v : tensor<4x8xf32>, tensor<8xf32>
  return
}

func.func @embedding(%table: tensor<16x8xf32>, %ids: tensor<2x4xi32>, %dy: tensor<2x4x8xf32>, %key: tensor<15xi64>) {
  // expected-remark @below {{a=2 b=4 c=16(lookup) d=8: [c, d], [a, b] -> [a, b, d]; linear in {0}.}}
  %0 = pp.embedding %table, %ids : tensor<16x8xf32>, tensor<2x4xi32>
  // expected-remark @below {{a=2(sum) b=4(sum) c=16(lookup) d=8: [a, b], [a, b, d] -> [c, d]; linear in {1}.}}
  %1 = pp.embedding_grad %ids, %dy : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  // With a cut table the key is read too.
  // expected-remark @below {{a=2 b=4 c=16(lookup) d=8: [c, d], [a, b], [.] -> [a, b, d]; linear in {0}; needs the random key.}}
  %2 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<2x4xi32>
  // expected-remark @below {{a=2(sum) b=4(sum) c=16(lookup) d=8: [a, b], [a, b, d], [.] -> [c, d]; linear in {1}; needs the random key.}}
  %3 = pp.embedding_grad %ids, %dy key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  return
}

func.func @attention(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x5x7xf32>) {
  // expected-remark @below {{a=2 b=3 c=4(replicate) d=8(replicate) e=5(replicate) f=7(replicate) g=2(replicate): [a, b, c, d], [a, b, e, d], [a, b, e, f] -> [a, b, c, f], [a, b, c, g].}}
  %0:2 = pp.attention %q, %k, %v : tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x7xf32>
  // expected-remark @below {{[a, b, c, d], [a, b, e, d], [a, b, e, f], [a, b, c, f], [a, b, c, g], [a, b, c, f] -> [a, b, c, d], [a, b, e, d], [a, b, e, f]; linear in {5}.}}
  %1:3 = pp.attention_grad %q, %k, %v, %0#0, %0#1, %0#0 : tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x7xf32>, tensor<2x3x4x7xf32>, tensor<2x3x4x2xf32>
  return
}

// Two query heads for each head of keys. What is broadcast has no loops there.
func.func @grouped_attention(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x7xf32>, %bias: tensor<1x6x4x4xf32>,
                             %mask: tensor<2x1x1x4xi1>, %slopes: tensor<6xf32>, %ids: tensor<2x4xi32>) {
  // expected-remark @below {{a=2 b=3 c=2 d=4(replicate) e=8(replicate) f=4(replicate) g=7(replicate) h=2(replicate): [a, bc, d, e], [a, b, f, e], [a, b, f, g], [., bc, d, f], [a, ., ., f], [bc], [a, d] -> [a, bc, d, g], [a, bc, d, h].}}
  %0:2 = pp.attention %q, %k, %v bias %bias mask %mask slopes %slopes segments %ids
      : tensor<2x6x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x7xf32>, tensor<1x6x4x4xf32>, tensor<2x1x1x4xi1>, tensor<6xf32>, tensor<2x4xi32>
  // expected-remark @below {{a=2 b=3 c=2(sum) d=4(replicate) e=8(replicate) f=4(replicate) g=7(replicate) h=2(replicate): [a, bc, d, e], [a, b, f, e], [a, b, f, g], [a, bc, d, g], [a, bc, d, h], [a, bc, d, g], [., bc, d, f], [a, ., ., f], [bc], [a, d] -> [a, bc, d, e], [a, b, f, e], [a, b, f, g], [a, bc, d, f]; linear in {5}.}}
  %1:4 = pp.attention_grad %q, %k, %v, %0#0, %0#1, %0#0 bias %bias mask %mask slopes %slopes segments %ids
      : tensor<2x6x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x7xf32>, tensor<2x6x4x7xf32>, tensor<2x6x4x2xf32>
      bias tensor<1x6x4x4xf32> mask tensor<2x1x1x4xi1> slopes tensor<6xf32> segments tensor<2x4xi32> -> tensor<2x6x4x4xf32>
  return
}

!row = tensor<1x3x1x8xf32>
!cache = tensor<1x3x16x8xf32>
func.func @attention_step(%q: !row, %k: !row, %v: !row, %keys: !cache, %values: !cache, %at: tensor<1xi64>) {
  // expected-remark @below {{a=1 b=3 c=1(replicate) d=8(replicate) e=16(replicate) f=8(replicate): [a, b, c, d], [a, b, c, d], [a, b, c, f], [a, b, e, d], [a, b, e, f], [.] -> [a, b, c, f], [a, b, e, d], [a, b, e, f].}}
  %out, %keys_after, %values_after = pp.attention_step %q, %k, %v cache %keys, %values at %at {scale = 0.35 : f64}
      : !row, !row, !row, !cache, !cache, tensor<1xi64>
  return
}

func.func @losses(%x: tensor<2x4x16xf32>, %t: tensor<2x4xi32>, %d: tensor<2x4xf32>) {
  // expected-remark @below {{a=2 b=4 c=16(replicate): [a, b, c], [a, b] -> [a, b].}}
  %0 = pp.token_loss %x, %t : tensor<2x4x16xf32>, tensor<2x4xi32>
  // expected-remark @below {{a=2 b=4 c=16(replicate): [a, b, c], [a, b], [a, b] -> [a, b, c]; linear in {2}.}}
  %1 = pp.token_loss_grad %x, %t, %d : tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf32>
  // expected-remark @below {{a=2(sum) b=4(sum) c=16(replicate): [a, b, c], [a, b] -> [].}}
  %2 = pp.cross_entropy %x, %t : tensor<2x4x16xf32>, tensor<2x4xi32>
  // expected-remark @below {{a=2(sum) b=4(sum): [a, b] -> [].}}
  %3 = pp.count %t {ignore_index = -1 : i64} : tensor<2x4xi32> to tensor<f32>
  // expected-remark @below {{a=2(sum) b=4(sum): [a, b], [a, b] -> [].}}
  %4 = pp.mse %d, %d : tensor<2x4xf32>, tensor<2x4xf32>
  // expected-remark @below {{a=2(sum) b=4(sum): [a, b], [a, b] -> [].}}
  %5 = pp.bce_with_logits %d, %d : tensor<2x4xf32>
  return
}

func.func @indices(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x3xf32>, %row: tensor<4x4x8xf32>, %mask: tensor<4x8xi1>) {
  // expected-remark @below {{a=4 b=3 c=8(replicate): [a, c], [a, b] -> [a, b]; linear in {0}.}}
  %0 = pp.gather %x, %ids {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>
  // expected-remark @below {{a=4 b=3(replicate) c=8(replicate): [a, c], [a, b], [a, b] -> [a, c]; linear in {0, 2}.}}
  %1 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  // expected-remark @below {{a=4 b=3(replicate) c=8(replicate): [a, c], [a, b], [a, b] -> [a, c].}}
  %50 = pp.scatter %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  // Onto zeros, parts of the updates give parts of the sum.
  // expected-remark @below {{a=4 b=8:  -> [a, b].}}
  %zeros = pp.constant dense<0.0> : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=3(sum) c=8(replicate): [a, c], [a, b], [a, b] -> [a, c]; linear in {2}, {0, 2}.}}
  %2 = pp.scatter_add %zeros, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  // expected-remark @below {{a=4 b=3 c=8(replicate): [a, b] -> [a, b, c].}}
  %3 = pp.one_hot %ids : tensor<4x3xi32> to tensor<4x3x8xf32>
  // expected-remark @below {{a=4 b=8(replicate) c=2(replicate) d=2(replicate): [a, b] -> [a, c], [a, d].}}
  %values, %first = pp.top_k %x {k = 2 : i64, dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  // expected-remark @below {{a=4(replicate) b=8: [a, b] -> [a, b], [a, b].}}
  %sorted, %all = pp.sort %x {dim = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi32>
  // expected-remark @below {{a=4 b=8(replicate) c=2(replicate): [a, b] -> [a, c].}}
  %4 = pp.order %x : tensor<4x8xf32> to tensor<4x2xi64>
  // expected-remark @below {{a=4(replicate) b=8: [a, b] -> [a, b]; linear in {0}.}}
  %5 = pp.cumsum %x {dim = 0 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %6 = pp.tril %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %7 = pp.triu %x : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(replicate): [a, b] -> [a, b]; linear in {0}.}}
  %8 = pp.roll %x {shift = 1 : i64, dim = 1 : i64} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8(max): [a, b] -> [a].}}
  %9 = pp.reduce min %x [1] : tensor<4x8xf32>
  // expected-remark @below {{a=4(max) b=8: [a, b] -> [b].}}
  %10 = pp.reduce all %mask [0] : tensor<4x8xi1>
  return
}

func.func @experts(%x: tensor<2x4x8xf32>, %experts: tensor<2x4x3xi32>, %weights: tensor<2x4x3xf32>) {
  // expected-remark @below {{a=2 b=8 c=4(replicate) d=4(replicate) e=3(replicate) f=5(replicate) g=6(replicate): [a, c, b], [a, d, e] -> [a, f, g, b].}}
  %0 = pp.dispatch %x, %experts : tensor<2x4x8xf32>, tensor<2x4x3xi32> to tensor<2x5x6x8xf32>
  // expected-remark @below {{a=2 b=8 c=5(replicate) d=6(replicate) e=4(replicate) f=3(replicate) g=4(replicate) h=3(replicate) i=4(replicate): [a, c, d, b], [a, e, f], [a, g, h] -> [a, i, b].}}
  %1 = pp.combine %0, %experts, %weights : tensor<2x5x6x8xf32>, tensor<2x4x3xi32>, tensor<2x4x3xf32> to tensor<2x4x8xf32>
  return
}

func.func @states(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %v: tensor<1x8xf32>) {
  // expected-remark @below {{a=4 b=8:  -> [a, b].}}
  %0 = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b] -> [a, b]; linear in {0}.}}
  %1 = pp.proposed %0 : tensor<4x8xf32>
  // expected-remark @below {{a=4 b=8: [a, b], [a, b] -> [a, b].}}
  %2 = pp.by_mode %x, %0 : tensor<4x8xf32>
  // expected-remark @below {{a=4(sum) b=8: [a, b], [b], [b], [b], [b] -> [a, b].}}
  %5 = pp.batch_norm %x, %c, %c, %c, %c : tensor<4x8xf32>, tensor<8xf32>
  // expected-remark @below {{a=4(sum) b=8: [., b], [a, b] -> [., b].}}
  %6 = pp.unbiased_variance %v, %x : tensor<1x8xf32>, tensor<4x8xf32>
  // expected-remark @below {{a=2 b=8 c=2(sum): [ca, b] -> [a, b]; linear in {0}.}}
  %3 = pp.enter_microbatch %x {dim = 0 : i64, microbatches = 2 : i64} : tensor<4x8xf32> to tensor<2x8xf32>
  // expected-remark @below {{a=2 b=8 c=2: [a, b] -> [ca, b]; linear in {0}.}}
  %4 = pp.leave_microbatch %3 {dim = 0 : i64, microbatches = 2 : i64} : tensor<2x8xf32> to tensor<4x8xf32>
  return
}

func.func @convolution(%x: tensor<2x5x3x8xf32>, %w: tensor<5x4x3x7xf32>) {
  // expected-remark @below {{a=2 b=5 c=4 d=3(sum) e=7(replicate) f=6(replicate): [a, b, d, .], [b, c, d, e] -> [a, b, c, f]; linear in {0}, {1}.}}
  %0 = pp.conv %x, %w : tensor<2x5x3x8xf32>, tensor<5x4x3x7xf32> to tensor<2x5x4x6xf32>
  return
}
