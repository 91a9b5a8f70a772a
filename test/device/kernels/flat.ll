; y = 2^x * z over 1234 elements, eight per thread of 128-bit accesses where all eight exist, else one at a time; in place over z.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)

define ptx_kernel void @flat(ptr %x, ptr %z, ptr %y) "nvvm.reqntid"="128,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %block, 512
  %mine = mul i32 %tid, 4
  %at = add i32 %base, %mine
  %end = add i32 %at, 4
  %whole = icmp ule i32 %end, 1234
  br i1 %whole, label %vector, label %tail
vector:
  %px = getelementptr float, ptr %x, i32 %at
  %v = load <4 x float>, ptr %px, align 16
  %pz = getelementptr float, ptr %z, i32 %at
  %w = load <4 x float>, ptr %pz, align 16
  %v0 = extractelement <4 x float> %v, i32 0
  %e0 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v0)
  %r0 = insertelement <4 x float> poison, float %e0, i32 0
  %v1 = extractelement <4 x float> %v, i32 1
  %e1 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v1)
  %r1 = insertelement <4 x float> %r0, float %e1, i32 1
  %v2 = extractelement <4 x float> %v, i32 2
  %e2 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v2)
  %r2 = insertelement <4 x float> %r1, float %e2, i32 2
  %v3 = extractelement <4 x float> %v, i32 3
  %e3 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v3)
  %r3 = insertelement <4 x float> %r2, float %e3, i32 3
  %product = fmul <4 x float> %r3, %w
  %py = getelementptr float, ptr %y, i32 %at
  store <4 x float> %product, ptr %py, align 16
  ret void
tail:
  %more = icmp ult i32 %at, 1234
  br i1 %more, label %scalar, label %done
scalar:
  %i = phi i32 [ %at, %tail ], [ %next, %scalar ]
  %spx = getelementptr float, ptr %x, i32 %i
  %sv = load float, ptr %spx, align 4
  %spz = getelementptr float, ptr %z, i32 %i
  %sw = load float, ptr %spz, align 4
  %se = call float @llvm.nvvm.ex2.approx.ftz.f32(float %sv)
  %sp = fmul float %se, %sw
  %spy = getelementptr float, ptr %y, i32 %i
  store float %sp, ptr %spy, align 4
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, 1234
  br i1 %again, label %scalar, label %done
done:
  ret void
}
