; sums[row] = sum of 1000 columns: a block per row; warps meet in shared memory. The second row of the block's variable is the total, which
; all threads read to write y = x - sum.
target triple = "nvptx64-nvidia-cuda"

@partials = external addrspace(3) global [0 x float], align 4 ; the launch says how many
@total = internal addrspace(3) global float poison, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @block_sum(ptr %x, ptr %sums, ptr %y) "nvvm.reqntid"="256,1,1" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %tid, 31
  %warp = lshr i32 %tid, 5
  %start = mul i32 %block, 1000
  br label %loop
loop:
  %c = phi i32 [ %tid, %entry ], [ %next, %loop ]
  %acc = phi float [ 0.0, %entry ], [ %sum, %loop ]
  %at = add i32 %start, %c
  %p = getelementptr float, ptr %x, i32 %at
  %v = load float, ptr %p, align 4
  %sum = fadd float %acc, %v
  %next = add i32 %c, 256
  %more = icmp ult i32 %next, 1000
  br i1 %more, label %loop, label %warps
warps:
  %s16 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %sum, i32 16, i32 31)
  %a16 = fadd float %sum, %s16
  %s8 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %a16, i32 8, i32 31)
  %a8 = fadd float %a16, %s8
  %s4 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %a8, i32 4, i32 31)
  %a4 = fadd float %a8, %s4
  %s2 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %a4, i32 2, i32 31)
  %a2 = fadd float %a4, %s2
  %s1 = call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float %a2, i32 1, i32 31)
  %a1 = fadd float %a2, %s1
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %put, label %meet
put:
  %slot = getelementptr float, ptr addrspace(3) @partials, i32 %warp
  store float %a1, ptr addrspace(3) %slot, align 4
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; partials are there
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %add, label %wait
add:
  %i = phi i32 [ 0, %meet ], [ %inext, %add ]
  %t = phi float [ 0.0, %meet ], [ %tnext, %add ]
  %ps = getelementptr float, ptr addrspace(3) @partials, i32 %i
  %pv = load float, ptr addrspace(3) %ps, align 4
  %tnext = fadd float %t, %pv
  %inext = add i32 %i, 1
  %imore = icmp ult i32 %inext, 8
  br i1 %imore, label %add, label %added
added:
  store float %tnext, ptr addrspace(3) @total, align 4
  %psum = getelementptr float, ptr %sums, i32 %block
  store float %tnext, ptr %psum, align 4
  br label %wait
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; the total is there
  %all = load float, ptr addrspacecast (ptr addrspace(3) @total to ptr), align 4
  br label %write
write:
  %wc = phi i32 [ %tid, %wait ], [ %wnext, %write ]
  %wat = add i32 %start, %wc
  %wpx = getelementptr float, ptr %x, i32 %wat
  %wv = load float, ptr %wpx, align 4
  %d = fsub float %wv, %all
  %wpy = getelementptr float, ptr %y, i32 %wat
  store float %d, ptr %wpy, align 4
  %wnext = add i32 %wc, 256
  %wmore = icmp ult i32 %wnext, 1000
  br i1 %wmore, label %write, label %end
end:
  ret void
}
