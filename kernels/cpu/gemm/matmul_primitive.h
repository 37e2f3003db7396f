#pragma once

#include <oneapi/dnnl/dnnl.hpp>

/// All that knows whether oneDNN is of version 2 or 3: what else multiply.cpp calls is the same in both, and so is
/// which kernels they take.
namespace octet::cpu {

/// c = a · b on `engine`, finished as `attributes` say. Throws dnnl::error for what oneDNN cannot multiply.
inline dnnl::matmul matmul_primitive(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                     const dnnl::memory::desc& c, const dnnl::primitive_attr& attributes,
                                     const dnnl::engine& engine) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul({engine, a, b, c, attributes});
#else  // an operation is described first, without the engine
  return dnnl::matmul({{a, b, c}, attributes, engine});
#endif
}

}  // namespace octet::cpu
