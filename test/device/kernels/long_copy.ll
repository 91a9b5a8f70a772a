; y[i] = x[i] of 2^31 + 256 bytes; a byte per thread.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @long_copy(ptr %x, ptr %y) "nvvm.reqntid"="256,1,1" {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %block, 8
  %narrow = or i32 %first, %tid
  %at = zext i32 %narrow to i64
  %px = getelementptr i8, ptr %x, i64 %at
  %v = load i8, ptr %px, align 1
  %py = getelementptr i8, ptr %y, i64 %at
  store i8 %v, ptr %py, align 1
  ret void
}
