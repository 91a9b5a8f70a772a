; y = (x - mean) * rsqrt(var + 1e-5) * gamma + beta: a warp per row of 100 columns, four columns per lane, 8 rows per block.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.rsqrt.approx.ftz.f(float)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)

define internal float @warp_sum(float %v) {
  %s16 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v, i32 16, i32 31)
  %a = fadd float %v, %s16
  %s8 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %a, i32 8, i32 31)
  %b = fadd float %a, %s8
  %s4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %b, i32 4, i32 31)
  %c = fadd float %b, %s4
  %s2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %c, i32 2, i32 31)
  %d = fadd float %c, %s2
  %s1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %d, i32 1, i32 31)
  %e = fadd float %d, %s1
  ret float %e
}

define ptx_kernel void @layer_norm(ptr align 16 %x, ptr align 16 %gamma, ptr align 16 %beta, ptr align 16 %y) "nvvm.reqntid"="256,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %first = mul i32 %block, 8
  %row = add i32 %first, %warp
  %start = mul i32 %row, 100
  %column = mul i32 %lane, 4
  %at = add i32 %start, %column
  %in = icmp ult i32 %column, 100
  %px = getelementptr float, ptr %x, i32 %at
  br i1 %in, label %load, label %mean
load:
  %loaded = load <4 x float>, ptr %px, align 16
  br label %mean
mean:
  %v = phi <4 x float> [ zeroinitializer, %entry ], [ %loaded, %load ]
  %part = call float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %v)
  %sum = call float @warp_sum(float %part)
  %m = fdiv float %sum, 100.0
  %mi = insertelement <4 x float> poison, float %m, i32 0
  %ms = shufflevector <4 x float> %mi, <4 x float> poison, <4 x i32> zeroinitializer
  %centred = fsub <4 x float> %v, %ms
  %masked = select i1 %in, <4 x float> %centred, <4 x float> zeroinitializer
  %squares = fmul <4 x float> %masked, %masked
  %part2 = call float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %squares)
  %sum2 = call float @warp_sum(float %part2)
  %var = fdiv float %sum2, 100.0
  %eps = fadd float %var, 0x3EE4F8B580000000
  %r = call float @llvm.nvvm.rsqrt.approx.ftz.f(float %eps)
  br i1 %in, label %store, label %end
store:
  %ri = insertelement <4 x float> poison, float %r, i32 0
  %rs = shufflevector <4 x float> %ri, <4 x float> poison, <4 x i32> zeroinitializer
  %pg = getelementptr float, ptr %gamma, i32 %column
  %g = load <4 x float>, ptr %pg, align 16
  %pb = getelementptr float, ptr %beta, i32 %column
  %b = load <4 x float>, ptr %pb, align 16
  %n = fmul <4 x float> %centred, %rs
  %ng = fmul <4 x float> %n, %g
  %z = fadd <4 x float> %ng, %b
  %py = getelementptr float, ptr %y, i32 %at
  store <4 x float> %z, ptr %py, align 16
  br label %end
end:
  ret void
}
