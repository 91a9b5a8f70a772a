//===- InstrumentDevice.h - Makes device code check itself ----------------===//

#ifndef PPOPT_TEST_DEVICE_INSTRUMENTDEVICE_H
#define PPOPT_TEST_DEVICE_INSTRUMENTDEVICE_H

#include "Memory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace emulated {

/// Loads, stores and calls as the file has them.
using Texts = llvm::DenseMap<const llvm::Instruction *, std::string>;
Texts printInstructions(const llvm::Module &module);

/// What the code of a kernel checks. Bounds: that accesses are within one
/// region, and aligned; such code is several times as fast.
enum class Checks { All, Bounds };

/// Precedes each load, store and copy of memory with a check that it may touch
/// what it touches. Adds a site for each; atomic operations are an error.
///
///   %v = load <4 x float>, ptr %p, align 16          ; before
///
///   %a = ptrtoint ptr %p to i64                      ; after
///   %offset = sub i64 %a, <begin of the site>
///   br i1 (%offset < <span of the site>, and %a is a multiple of 16), %go,
///   %ask
/// ask:
///   call void @ppopt_emulated_read(i64 %a, i32 <number of the site>)
///   br label %go
/// go:
///   %v = load <4 x float>, ptr %p, align 16
///
/// With all checks a store, and an access to shared memory, asks always.
llvm::Error instrumentAccesses(llvm::Module &module, const Texts &texts,
                               Checks checks, std::vector<Site> &sites);

/// Calls functions of the table for all intrinsics that are not those of every
/// target; one that is missing there is an error that names its caller. Each
/// synchronisation gets a site. Divisions, square roots and others that may be
/// approximate (afn) become so; numbers become bf16 by the rules of a GPU.
///
///   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)   ; before
///
///   store i32 <number of the site>, ptr @ppopt_emulated_site   ; after
///   store i64 0, ptr %lane
///   call void @ppopt_emulated.llvm.nvvm.barrier...(ptr %lane)
llvm::Error replaceIntrinsics(llvm::Module &module, const Texts &texts,
                              std::vector<Site> &sites);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_INSTRUMENTDEVICE_H
