// Takes the place of libcuda.so.1 where there is no driver: as much of it as cuDNN asks while it builds a plan for a
// device that is given as data. Loading "succeeds" and nothing can be launched, so it shows support and workspace only.
namespace {
char something;  // what handles point at
}

#define SUCCEEDS(name)    \
  extern "C" int name() { \
    return 0;             \
  }
SUCCEEDS(cuCtxGetCurrent)
SUCCEEDS(cuCtxGetLimit)
SUCCEEDS(cuCtxPopCurrent)
SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuDeviceGet)
SUCCEEDS(cuGetErrorName)
SUCCEEDS(cuGetErrorString)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuLaunchKernel)
SUCCEEDS(cuLaunchKernelEx)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuLinkAddData)
SUCCEEDS(cuLinkComplete)
SUCCEEDS(cuLinkCreate)
SUCCEEDS(cuLinkDestroy)
SUCCEEDS(cuStreamGetCtx)

#define GIVES(name, type, value)   \
  extern "C" int name(type* out) { \
    *out = value;                  \
    return 0;                      \
  }
GIVES(cuDeviceGetCount, int, 1)
GIVES(cuDriverGetVersion, int, 13000)
GIVES(cuKernelGetAttribute, int, 0)
GIVES(cuLibraryGetKernel, void*, &something)
GIVES(cuLibraryLoadData, void*, &something)
GIVES(cuLibraryLoadFromFile, void*, &something)
GIVES(cuOccupancyMaxPotentialClusterSize, int, 1)
