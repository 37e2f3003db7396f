#pragma once

#include <cstddef>
#include <string>

/// cudnn-frontend loads its libraries by dlopen and dlsym (NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING). These two take their
/// place in it, so that libcudnn is found where DynamicLibrary looks and the run time is the one linked into this
/// program: a machine with a driver and libcudnn needs no libcudart.so, and a second version of it beside is no matter.
namespace octet::cuda {

/// libcudnn's handle; a usage error that says what to install when there is none, or none of this CUDA. Loads cuBLASLt
/// too, which cuDNN cannot be without, and libnvrtc, which compiles attention's kernels when a plan is built
/// (libraries.h).
void* cudnn_library();
/// As cudnnGetVersion gives it. Loads the library, as cudnn_library.
std::size_t cudnn_version();
/// Why libnvrtc could not be loaded, empty when it could.
const std::string& why_no_nvrtc();
/// The version of libnvrtc, counted as cuBLASLt's: 130000 for 13.0. Loads it; 0 where there is none.
std::size_t nvrtc_version();

/// Opens a library as dlopen does, but names of libcudart give the linked run time, and libnvrtc gives none:
/// cudnn-frontend itself needs none for attention.
void* open_for_cudnn(const char* file, int flags);
/// Finds a symbol as dlsym does. Of the linked run time it finds what attention may ask for, and null for the rest.
void* symbol_for_cudnn(void* library, const char* name);

}  // namespace octet::cuda
