//===- Approximations.h - Approximate instructions of a GPU ---------------===//
//
// Each returns the exact result times 1 + e, where e follows from the operand
// and is anywhere within the bound that the PTX ISA states. So a kernel that
// needs more accuracy than it states fails, and the same operands have the same
// result in every order of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_APPROXIMATIONS_H
#define PPOPT_TEST_DEVICE_APPROXIMATIONS_H

namespace emulated {

/// Returns x, or a zero of its sign if x is subnormal.
float flush(float x);

float ex2Approx(float x), ex2ApproxFtz(float x);     // 2^-22
float lg2Approx(float x), lg2ApproxFtz(float x);     // 2^-22, absolute near 1
float rcpApproxFtz(float x);                         // 1 ulp
float sqrtApprox(float x), sqrtApproxFtz(float x);   // 2^-23
float rsqrtApprox(float x), rsqrtApproxFtz(float x); // 2^-22.9
float sinApprox(float x), cosApprox(float x);        // 2^-20.5, absolute
float tanhApprox(float x);                           // 2^-11
float divFull(float x, float y), divFullFtz(float x, float y);     // 2 ulp
float divApprox(float x, float y), divApproxFtz(float x, float y); // 2 ulp

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_APPROXIMATIONS_H
