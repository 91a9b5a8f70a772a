; D = A B + C by mma.sync: A 16x16 and B 16x8 of bf16 (B by columns), C and D 16x8 of f32; A by ldmatrix from shared memory.
target triple = "nvptx64-nvidia-cuda"

@a = internal addrspace(3) global [16 x [8 x i32]] poison, align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32, i32, i32, i32, i32, i32, float, float, float, float)

define ptx_kernel void @mma(ptr %pa, ptr %pb, ptr %pc, ptr %pd) "nvvm.reqntid"="32,1,1" {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ; 16 bytes of A per lane into shared memory.
  %quad = mul i32 %lane, 4
  %from = getelementptr i32, ptr %pa, i32 %quad
  %sixteen = load <4 x i32>, ptr %from, align 16
  %to = getelementptr i32, ptr addrspace(3) @a, i32 %quad
  store <4 x i32> %sixteen, ptr addrspace(3) %to, align 16
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ; Matrices: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15.
  %row = and i32 %lane, 15
  %right = lshr i32 %lane, 4
  %word = mul i32 %right, 4
  %address = getelementptr [8 x i32], ptr addrspace(3) @a, i32 %row, i32 %word
  %f = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %address)
  %a0 = extractvalue { i32, i32, i32, i32 } %f, 0
  %a1 = extractvalue { i32, i32, i32, i32 } %f, 1
  %a2 = extractvalue { i32, i32, i32, i32 } %f, 2
  %a3 = extractvalue { i32, i32, i32, i32 } %f, 3
  %group = lshr i32 %lane, 2
  %pair = and i32 %lane, 3
  ; Column `group` of B, 8 words of two elements.
  %column = mul i32 %group, 8
  %w0 = add i32 %column, %pair
  %p0 = getelementptr i32, ptr %pb, i32 %w0
  %b0 = load i32, ptr %p0, align 4
  %w1 = add i32 %w0, 4
  %p1 = getelementptr i32, ptr %pb, i32 %w1
  %b1 = load i32, ptr %p1, align 4
  %at = mul i32 %group, 8
  %two = mul i32 %pair, 2
  %upper = add i32 %at, %two
  %lower = add i32 %upper, 64
  %pc0 = getelementptr float, ptr %pc, i32 %upper
  %c01 = load <2 x float>, ptr %pc0, align 8
  %pc2 = getelementptr float, ptr %pc, i32 %lower
  %c23 = load <2 x float>, ptr %pc2, align 8
  %c0 = extractelement <2 x float> %c01, i32 0
  %c1 = extractelement <2 x float> %c01, i32 1
  %c2 = extractelement <2 x float> %c23, i32 0
  %c3 = extractelement <2 x float> %c23, i32 1
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  %u0 = insertelement <2 x float> poison, float %d0, i32 0
  %u1 = insertelement <2 x float> %u0, float %d1, i32 1
  %pd0 = getelementptr float, ptr %pd, i32 %upper
  store <2 x float> %u1, ptr %pd0, align 8
  %l0 = insertelement <2 x float> poison, float %d2, i32 0
  %l1 = insertelement <2 x float> %l0, float %d3, i32 1
  %pd2 = getelementptr float, ptr %pd, i32 %lower
  store <2 x float> %l1, ptr %pd2, align 8
  ret void
}
