// RUN: ppopt opt %s --pp-plan-cuda-kernels --split-input-file | FileCheck %s

// Reads at the same index only: one flat range.
// CHECK: pp.kernel @flat{{.*}}threads = #pp.threads<256, 256 per row, 8 each>, tiles = #pp.tiles<8 of 2048 elements>
pp.kernel @flat(%x: tensor<4x4096xf32>, %s: tensor<f32>) -> (tensor<4x4096xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x4096>} {
  %0 = pp.mul %x, %s : tensor<4x4096xf32>, tensor<f32>
  pp.return %0 : tensor<4x4096xf32>
}

// Neighbours divide the row: of 9000 columns 8, of 66 columns 2, of 33 one.
// CHECK: pp.kernel @parts{{.*}}threads = #pp.threads<256, 256 per row, 8 each>, tiles = #pp.tiles<10 of 2048 columns>
pp.kernel @parts(%x: tensor<2x9000xf32>, %s: tensor<2x1xf32>) -> (tensor<2x9000xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 2x9000>} {
  %0 = pp.mul %x, %s : tensor<2x9000xf32>, tensor<2x1xf32>
  pp.return %0 : tensor<2x9000xf32>
}
// CHECK: pp.kernel @even{{.*}}threads = #pp.threads<256, 32 per row, 2 each>, tiles = #pp.tiles<2 of 8 rows>
// CHECK: pp.lanes = 64
pp.kernel @even(%x: tensor<9x66xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x66>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x66xf32>
  pp.return %0 : tensor<9xf32>
}
// CHECK: pp.kernel @odd{{.*}}threads = #pp.threads<256, 32 per row, 1 each>, tiles = #pp.tiles<1 of 8 rows>
// CHECK: pp.lanes = 32
pp.kernel @odd(%x: tensor<7x33xf32>) -> tensor<7xf32> attributes {form = #pp.form<rows 7x33>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<7x33xf32>
  pp.return %0 : tensor<7xf32>
}

// Few threads share a short row; a block has a long one, and a warp one of 2,048.
// CHECK: pp.kernel @short{{.*}}threads = #pp.threads<32, 2 per row, 8 each>, tiles = #pp.tiles<1 of 16 rows>
pp.kernel @short(%x: tensor<9x16xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x16>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x16xf32>
  pp.return %0 : tensor<9xf32>
}
// CHECK: pp.kernel @warp{{.*}}threads = #pp.threads<256, 32 per row, 8 each>, tiles = #pp.tiles<2 of 8 rows>
// CHECK: pp.lanes = 256
pp.kernel @warp(%x: tensor<9x2048xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x2048>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x2048xf32>
  pp.return %0 : tensor<9xf32>
}
// CHECK: pp.kernel @block{{.*}}threads = #pp.threads<256, 256 per row, 8 each>, tiles = #pp.tiles<9 of 1 rows>
// CHECK: pp.lanes = 2048
pp.kernel @block(%x: tensor<9x2056xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x2056>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x2056xf32>
  pp.return %0 : tensor<9xf32>
}

// Eight columns, for each row of what is left; few rows have few threads, and many rows twice as many as other kernels.
// CHECK: pp.kernel @columns{{.*}}threads = #pp.threads<32, 8 per row, 1 each>, tiles = #pp.tiles<24 of 8 columns>
pp.kernel @columns(%x: tensor<2x8x96xf32>) -> tensor<2x96xf32> attributes {form = #pp.form<columns 2x8x96>} {
  %0 = pp.reduce sum %x [1] : tensor<2x8x96xf32>
  pp.return %0 : tensor<2x96xf32>
}
// CHECK: pp.kernel @many{{.*}}threads = #pp.threads<512, 8 per row, 1 each>, tiles = #pp.tiles<13 of 8 columns>
pp.kernel @many(%x: tensor<8192x100xf32>) -> tensor<100xf32> attributes {form = #pp.form<columns 8192x100>} {
  %0 = pp.reduce sum %x [0] : tensor<8192x100xf32>
  pp.return %0 : tensor<100xf32>
}

// Where results have 65536 columns or more, a thread has a column.
// CHECK: pp.kernel @many_columns{{.*}}threads = #pp.threads<128, 128 per row, 1 each>, tiles = #pp.tiles<1024 of 128 columns>
pp.kernel @many_columns(%x: tensor<8x1024x100xf32>) -> tensor<1024x100xf32> attributes {form = #pp.form<columns 8x1024x100>} {
  %0 = pp.reduce sum %x [0] : tensor<8x1024x100xf32>
  pp.return %0 : tensor<1024x100xf32>
}

// 64 columns, and as many blocks of rows of the table as make 264 blocks. A list of all ids, twice, lies in shared memory.
// CHECK: pp.kernel @scatter{{.*}}threads = #pp.threads<256, 16 per row, 4 each, 4192 shared>, tiles = #pp.tiles<258 of 64 columns, blocks of 8>
pp.kernel @scatter(%d: tensor<8x96xf32>, %i: tensor<8xi32>) -> tensor<1025x96xf32> attributes {form = #pp.form<scatter 8x96>} {
  %0 = pp.embedding_grad %i, %d : tensor<8xi32>, tensor<8x96xf32> to tensor<1025x96xf32>
  pp.return %0 : tensor<1025x96xf32>
}
// A table of few rows has narrower runs of columns. The list of many ids is sorted several times; an entry has a row of 1 bit and a number of 17.
// CHECK: pp.kernel @few_rows{{.*}}threads = #pp.threads<256, 2 per row, 4 each, 69664 shared>, tiles = #pp.tiles<24 of 8 columns, blocks of 1>
pp.kernel @few_rows(%d: tensor<100000x96xf32>, %i: tensor<100000xi32>) -> tensor<2x96xf32> attributes {form = #pp.form<scatter 100000x96>} {
  %0 = pp.embedding_grad %i, %d : tensor<100000xi32>, tensor<100000x96xf32> to tensor<2x96xf32>
  pp.return %0 : tensor<2x96xf32>
}
// Entries of 64 bits have half as much memory to lie in.
// CHECK: pp.kernel @long_entries{{.*}}threads = #pp.threads<256, 8 per row, 1 each, 66592 shared>, tiles = #pp.tiles<264 of 8 columns, blocks of 3788>
pp.kernel @long_entries(%d: tensor<2097152x7xf32>, %i: tensor<2097152xi32>) -> tensor<1000000x7xf32> attributes {form = #pp.form<scatter 2097152x7>} {
  %0 = pp.embedding_grad %i, %d : tensor<2097152xi32>, tensor<2097152x7xf32> to tensor<1000000x7xf32>
  pp.return %0 : tensor<1000000x7xf32>
}

// -----

// Thresholds make any shape a long or short one.
// CHECK: pp.kernel @small{{.*}}threads = #pp.threads<32, 32 per row, 4 each>, tiles = #pp.tiles<7 of 1 rows>
module attributes {pp.thresholds = {"gpu-threads" = 63 : i64, "gpu-each" = 7 : i64, "gpu-warp-columns" = 15 : i64}} {
  pp.kernel @small(%x: tensor<7x16xf32>) -> tensor<7xf32> attributes {form = #pp.form<rows 7x16>} {
    %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<7x16xf32>
    pp.return %0 : tensor<7xf32>
  }
}

// -----

// Attention: tiles of 64 queries, 32 keys at a time; of the gradient 32 of each, some tiles having keys and some queries. Wide heads in f64 have
// smaller tiles.
// CHECK: pp.kernel @attention{{.*}}threads = #pp.threads<256, 16 per row, 1 each, 41728 shared>, tiles = #pp.tiles<16 of 64 queries, blocks of 32>
!q = tensor<2x4x100x64xf32>
!l = tensor<2x4x100x2xf32>
pp.kernel @attention(%q: !q, %k: !q, %v: !q) -> (!q, !l) attributes {form = #pp.form<attention 2x4x100x64>} {
  %0:2 = pp.attention %q, %k, %v : !q, !q, !q
  pp.return %0#0, %0#1 : !q, !l
}
// CHECK: pp.kernel @gradient{{.*}}tiles = #pp.tiles<64 of 32 queries, blocks of 32>
pp.kernel @gradient(%q: !q, %k: !q, %v: !q, %o: !q, %l: !l, %d: !q) -> (!q, !q, !q) attributes {form = #pp.form<attention_grad 2x4x100x64>} {
  %0:3 = pp.attention_grad %q, %k, %v, %o, %l, %d : !q, !q, !q, !q, !l
  pp.return %0#0, %0#1, %0#2 : !q, !q, !q
}
// CHECK: pp.kernel @wide{{.*}}tiles = #pp.tiles<8 of 16 queries, blocks of 16>
!w = tensor<1x4x32x256xf64>
!m = tensor<1x4x32x2xf64>
pp.kernel @wide(%q: !w, %k: !w, %v: !w) -> (!w, !m) attributes {form = #pp.form<attention 1x4x32x256>} {
  %0:2 = pp.attention %q, %k, %v : !w, !w, !w
  pp.return %0#0, %0#1 : !w, !m
}

// -----

// bf16, by tensor cores: a warp has 32 queries, 32 keys at a time; 16 and 64 if heads are wide; of the gradient 16, and the block as many columns
// as rows.
!q = tensor<2x4x100x64xbf16>
!l = tensor<2x4x100x2xf32>
// CHECK: pp.kernel @bf16{{.*}}threads = #pp.threads<128, 4 per row, 2 each, 27648 shared>, tiles = #pp.tiles<8 of 128 queries, blocks of 32>
pp.kernel @bf16(%q: !q, %k: !q, %v: !q) -> (!q, !l) attributes {form = #pp.form<attention 2x4x100x64>} {
  %0:2 = pp.attention %q, %k, %v : !q, !q, !q
  pp.return %0#0, %0#1 : !q, !l
}
// CHECK: pp.kernel @bf16_gradient{{.*}}threads = #pp.threads<128, 4 per row, 2 each, 37632 shared>, tiles = #pp.tiles<32 of 64 queries, blocks of 64>
pp.kernel @bf16_gradient(%q: !q, %k: !q, %v: !q, %o: !q, %l: !l, %d: !q) -> (!q, !q, !q) attributes {form = #pp.form<attention_grad 2x4x100x64>} {
  %0:3 = pp.attention_grad %q, %k, %v, %o, %l, %d : !q, !q, !q, !q, !l
  pp.return %0#0, %0#1, %0#2 : !q, !q, !q
}
// CHECK: pp.kernel @bf16_wide{{.*}}threads = #pp.threads<128, 4 per row, 2 each, 52224 shared>, tiles = #pp.tiles<16 of 64 queries, blocks of 64>
!w = tensor<2x4x100x128xbf16>
pp.kernel @bf16_wide(%q: !w, %k: !w, %v: !w) -> (!w, !l) attributes {form = #pp.form<attention 2x4x100x128>} {
  %0:2 = pp.attention %q, %k, %v : !w, !w, !w
  pp.return %0#0, %0#1 : !w, !l
}
// CHECK: pp.kernel @bf16_wide_gradient{{.*}}threads = #pp.threads<96, 4 per row, 2 each, 52800 shared>
!n = tensor<1x1x48x128xbf16>
!k = tensor<1x1x48x2xf32>
pp.kernel @bf16_wide_gradient(%q: !n, %k: !n, %v: !n, %o: !n, %l: !k, %d: !n) -> (!n, !n, !n) attributes {form = #pp.form<attention_grad 1x1x48x128>} {
  %0:3 = pp.attention_grad %q, %k, %v, %o, %l, %d : !n, !n, !n, !n, !k
  pp.return %0#0, %0#1, %0#2 : !n, !n, !n
}

// -----

// CHECK: pp.kernel @few{{.*}}threads = #pp.threads<64, 4 per row, 2 each, {{.*}}>, tiles = #pp.tiles<16 of 64 queries, blocks of 16>
module attributes {pp.thresholds = {"gpu-warps" = 2 : i64, "gpu-tensor-keys" = 1 : i64}} {
  pp.kernel @few(%q: tensor<2x4x100x64xbf16>, %k: tensor<2x4x100x64xbf16>, %v: tensor<2x4x100x64xbf16>) -> (tensor<2x4x100x64xbf16>, tensor<2x4x100x2xf32>) attributes {form = #pp.form<attention 2x4x100x64>} {
    %0:2 = pp.attention %q, %k, %v : tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>
    pp.return %0#0, %0#1 : tensor<2x4x100x64xbf16>, tensor<2x4x100x2xf32>
  }
}

// -----

// Two heads of queries read one of keys: of the gradient fewer tiles have keys than queries. With segments each warp has eight bytes more of shared memory.
// CHECK: pp.kernel @grouped{{.*}}threads = #pp.threads<256, 16 per row, 1 each, 41792 shared>, tiles = #pp.tiles<16 of 64 queries, blocks of 32>
// CHECK: pp.kernel @grouped_gradient{{.*}}tiles = #pp.tiles<48 of 32 queries, blocks of 32>
!q = tensor<2x4x100x64xf32>
!k = tensor<2x2x100x64xf32>
!l = tensor<2x4x100x2xf32>
!g = tensor<2x100xi32>
pp.kernel @grouped(%q: !q, %k: !k, %v: !k, %g: !g) -> (!q, !l) attributes {form = #pp.form<attention 2x4x100x64>} {
  %0:2 = pp.attention %q, %k, %v segments %g : !q, !k, !k, !g
  pp.return %0#0, %0#1 : !q, !l
}
pp.kernel @grouped_gradient(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %d: !q) -> (!q, !k, !k) attributes {form = #pp.form<attention_grad 2x4x100x64>} {
  %0:3 = pp.attention_grad %q, %k, %v, %o, %l, %d : !q, !k, !k, !q, !l
  pp.return %0#0, %0#1, %0#2 : !q, !k, !k
}

// -----

// Attention of one position: a block has a head. Threads share a row of a cache, and each takes some at a time: 4, or fewer of wide rows, so that they
// fit into registers. A short cache has fewer threads. Warps meet in shared memory: with less of it there are fewer.
// CHECK: pp.kernel @step{{.*}}threads = #pp.threads<512, 8 per row, 8 each, 4224 shared>, tiles = #pp.tiles<3 of 1 heads, blocks of 256>
!row = tensor<1x3x1x64xbf16>
!cache = tensor<1x3x1024x64xbf16>
pp.kernel @step(%x: !row, %at: tensor<1xi64>, %k: !cache, %v: !cache) -> (!row, !cache, !cache) attributes {form = #pp.form<attention_step 1x3x1x64>} {
  %o, %ka, %va = pp.attention_step %x, %x, %x cache %k, %v at %at {scale = 0.5 : f64} : !row, !row, !row, !cache, !cache, tensor<1xi64>
  pp.return %o, %ka, %va : !row, !cache, !cache
}
// CHECK: pp.kernel @short{{.*}}threads = #pp.threads<32, 8 per row, 1 each>, tiles = #pp.tiles<3 of 1 heads, blocks of 16>
!k = tensor<1x3x1x5xf32>
!v = tensor<1x3x1x6xf32>
!ks = tensor<1x3x9x5xf32>
!vs = tensor<1x3x9x6xf32>
pp.kernel @short(%x: !k, %y: !v, %at: tensor<1xi64>, %k: !ks, %v: !vs) -> (!v, !ks, !vs) attributes {form = #pp.form<attention_step 1x3x1x5>} {
  %o, %ka, %va = pp.attention_step %x, %x, %y cache %k, %v at %at {scale = 0.5 : f64} : !k, !k, !v, !ks, !vs, tensor<1xi64>
  pp.return %o, %ka, %va : !v, !ks, !vs
}
// CHECK: pp.kernel @wide{{.*}}threads = #pp.threads<64, 32 per row, 8 each, 65568 shared>, tiles = #pp.tiles<1 of 1 heads, blocks of 2>
!w = tensor<1x1x1x4096xf64>
!ws = tensor<1x1x512x4096xf64>
pp.kernel @wide(%x: !w, %at: tensor<1xi64>, %k: !ws, %v: !ws) -> (!w, !ws, !ws) attributes {form = #pp.form<attention_step 1x1x1x4096>} {
  %o, %ka, %va = pp.attention_step %x, %x, %x cache %k, %v at %at {scale = 0.5 : f64} : !w, !w, !w, !ws, !ws, tensor<1xi64>
  pp.return %o, %ka, %va : !w, !ws, !ws
}

// -----

// CHECK: pp.kernel @thresholds{{.*}}threads = #pp.threads<32, 4 per row, 2 each>, tiles = #pp.tiles<1 of 1 heads, blocks of 8>
module attributes {pp.thresholds = {"gpu-threads" = 32 : i64, "gpu-each" = 2 : i64, "gpu-step-keys" = 1 : i64, "gpu-shared-bytes" = 1 : i64}} {
  pp.kernel @thresholds(%x: tensor<1x1x1x8xf32>, %at: tensor<1xi64>, %k: tensor<1x1x99x8xf32>, %v: tensor<1x1x99x8xf32>)
      -> (tensor<1x1x1x8xf32>, tensor<1x1x99x8xf32>, tensor<1x1x99x8xf32>) attributes {form = #pp.form<attention_step 1x1x1x8>} {
    %o, %ka, %va = pp.attention_step %x, %x, %x cache %k, %v at %at {scale = 0.5 : f64} : tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1x1x99x8xf32>, tensor<1x1x99x8xf32>, tensor<1xi64>
    pp.return %o, %ka, %va : tensor<1x1x1x8xf32>, tensor<1x1x99x8xf32>, tensor<1x1x99x8xf32>
  }
}

// -----

// CHECK: pp.kernel @convolution{{.*}}threads = #pp.threads<256, 1 per row, 1 each>, tiles = #pp.tiles<4 of 256 elements>
pp.kernel @convolution(%x: tensor<2x1x3x101xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x100xf32> attributes {form = #pp.form<conv 2x1x4x100>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x101xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x100xf32>
  pp.return %0 : tensor<2x1x4x100xf32>
}
