; Each approximate instruction on x (and x by y): result k of element i at 10 i + k; then x rounded to bf16, and back.
target triple = "nvptx64-nvidia-cuda"

@half = internal addrspace(4) constant [2 x float] [float 0.5, float 2.0], align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.ex2.approx.f32(float)
declare float @llvm.nvvm.lg2.approx.f(float)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare float @llvm.nvvm.sqrt.approx.f(float)
declare float @llvm.nvvm.div.full(float, float)
declare float @llvm.tanh.f32(float)
declare float @llvm.sqrt.f32(float)

define ptx_kernel void @approximate(ptr %x, ptr %y, ptr %z, ptr %rounded) "nvvm.reqntid"="64,1,1" {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 64
  %i = add i32 %first, %tid
  %px = getelementptr float, ptr %x, i32 %i
  %v = load float, ptr %px, align 4
  %py = getelementptr float, ptr %y, i32 %i
  %w = load float, ptr %py, align 4
  %ten = mul i32 %i, 10
  %p0 = getelementptr float, ptr %z, i32 %ten
  %r0 = call float @llvm.nvvm.ex2.approx.f32(float %v)
  store float %r0, ptr %p0, align 4
  %r1 = call float @llvm.nvvm.lg2.approx.f(float %v)
  %p1 = getelementptr float, ptr %p0, i32 1
  store float %r1, ptr %p1, align 4
  %r2 = call float @llvm.nvvm.rcp.approx.ftz.f(float %v)
  %p2 = getelementptr float, ptr %p0, i32 2
  store float %r2, ptr %p2, align 4
  %r3 = call float @llvm.nvvm.rsqrt.approx.f(float %v)
  %p3 = getelementptr float, ptr %p0, i32 3
  store float %r3, ptr %p3, align 4
  %r4 = call float @llvm.nvvm.sqrt.approx.f(float %v)
  %p4 = getelementptr float, ptr %p0, i32 4
  store float %r4, ptr %p4, align 4
  %r5 = call float @llvm.nvvm.div.full(float %v, float %w)
  %p5 = getelementptr float, ptr %p0, i32 5
  store float %r5, ptr %p5, align 4
  %r6 = call afn float @llvm.tanh.f32(float %v)
  %p6 = getelementptr float, ptr %p0, i32 6
  store float %r6, ptr %p6, align 4
  %r7 = call float @llvm.sqrt.f32(float %v)
  %p7 = getelementptr float, ptr %p0, i32 7
  store float %r7, ptr %p7, align 4
  %r8 = fdiv afn float %v, %w
  %p8 = getelementptr float, ptr %p0, i32 8
  store float %r8, ptr %p8, align 4
  %odd = and i32 %i, 1
  %pc = getelementptr float, ptr addrspace(4) @half, i32 %odd
  %c = load float, ptr addrspace(4) %pc, align 4
  %r9 = fmul float %v, %c
  %p9 = getelementptr float, ptr %p0, i32 9
  store float %r9, ptr %p9, align 4
  %h = fptrunc float %v to bfloat
  %pr = getelementptr bfloat, ptr %rounded, i32 %i
  store bfloat %h, ptr %pr, align 2
  ret void
}
