; y = x transposed, 32x32, a warp: rows go to shared memory, columns come back, with a warp barrier between.
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [32 x [33 x float]] poison, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @transpose(ptr %x, ptr %y) "nvvm.reqntid"="32,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %in
in:
  %r = phi i32 [ 0, %entry ], [ %rnext, %in ]
  %row = mul i32 %r, 32
  %at = add i32 %row, %tid
  %px = getelementptr float, ptr %x, i32 %at
  %v = load float, ptr %px, align 4
  %slot = getelementptr [33 x float], ptr addrspace(3) @tile, i32 %r, i32 %tid
  store float %v, ptr addrspace(3) %slot, align 4
  %rnext = add i32 %r, 1
  %rmore = icmp ult i32 %rnext, 32
  br i1 %rmore, label %in, label %meet
meet:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  br label %out
out:
  %c = phi i32 [ 0, %meet ], [ %cnext, %out ]
  %column = getelementptr [33 x float], ptr addrspace(3) @tile, i32 %tid, i32 %c
  %w = load float, ptr addrspace(3) %column, align 4
  %yrow = mul i32 %c, 32
  %yat = add i32 %yrow, %tid
  %py = getelementptr float, ptr %y, i32 %yat
  store float %w, ptr %py, align 4
  %cnext = add i32 %c, 1
  %cmore = icmp ult i32 %cnext, 32
  br i1 %cmore, label %out, label %end
end:
  ret void
}
