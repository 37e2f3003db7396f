#pragma once

// What a kernel's source sees in place of nvcc: included before it (emulated.cmake). CUDA's own headers have the types,
// their conversions and the declarations of the run time as host code; its words for functions and memory say something
// else here.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __shared__ thread_local  // of a block, which stays on one thread of the operating system
#define __forceinline__ inline __attribute__((always_inline))  // so that arrays of a thread are its own function's
#define __launch_bounds__(...)
#define __grid_constant__

#include "kernels/cuda/host/cluster.h"
#include "tests/emulated/emulated_launch.h"
#include "tests/emulated/intrinsics.h"

#define threadIdx (::octet::emulated::thread_index())
#define blockIdx (::octet::emulated::block_index())
#define blockDim (::octet::emulated::block_size())
#define gridDim (::octet::emulated::grid_size())
