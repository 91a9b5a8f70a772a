// RUN: ppopt opt %s --pp-verify-kernels --split-input-file --verify-diagnostics

pp.region "record" "record" at 0 bytes 128
pp.region "record" "loss" at 128 bytes 64
pp.region "record" "record" at 0 bytes 128 {place = 1 : i64}
pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 64 : i64} {
  %0 = pp.temp 0 : memref<16xf32>
  pp.return
}

// -----

pp.region "record" "record" at 0 bytes 128
// expected-error @+1 {{begins at 192, but the one before ends at 128}}
pp.region "record" "loss" at 192 bytes 64

// -----

// expected-error @+1 {{is of 100 bytes, no multiple of 64}}
pp.region "record" "record" at 0 bytes 100

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 64 : i64} {
  // expected-error @+1 {{ends at byte 68 of @F's 64, or is not aligned to 64}}
  %0 = pp.temp 0 : memref<17xf32>
  pp.return
}

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @+1 {{is no launch, product or view: a task of phase kernels neither allocates nor copies}}
  %0 = memref.alloc() : memref<16xf32>
  pp.return
}

// -----

// A range that lies in the memory of others counts for no other; it must be theirs.
pp.region "activations" "slots" at 0 bytes 128
pp.region "communication" "scratch:b0" at 64 bytes 64 {pp.overlaid}
pp.region "communication" "scratch:loss" at 128 bytes 64
// expected-error @+1 {{is overlaid and ends at 256, but what is in front of it at 192}}
pp.region "communication" "scratch:b1" at 128 bytes 128 {pp.overlaid}

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}, %s: memref<32xf32> {pp.role = #pp.role<saved, "s">}) attributes {temp_bytes = 0 : i64} {
  %0 = memref.reinterpret_cast %s to offset: [16], sizes: [4, 4], strides: [4, 1] : memref<32xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  // expected-error @+1 {{ends at byte 192 of a buffer of 128}}
  %1 = memref.reinterpret_cast %s to offset: [32], sizes: [4, 4], strides: [4, 1] : memref<32xf32> to memref<4x4xf32, strided<[4, 1], offset: 32>>
  pp.return
}
