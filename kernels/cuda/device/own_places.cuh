#pragma once

#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/shared_memory.cuh"

namespace octet::cuda {

/// A thread's own places of 16 bytes in shared memory; the same places of neighbouring threads lie side by side. A
/// thread reads only what it brought itself, which needs no barrier. `wide`: packs are aligned, and whole or absent;
/// they are copied while the thread does something else, until it waits for its copies. Otherwise the elements that are
/// there are read at once.
template <int threads, bool wide>
class OwnPlaces {
 public:
  static constexpr int bytes_of(int places) { return places * threads * static_cast<int>(sizeof(int4)); }

  /// `shared`: of the block, bytes_of as many as a thread has.
  __device__ __forceinline__ explicit OwnPlaces(int4* shared) : own_(shared + threadIdx.x) {}

  /// The pack at `from`, of which `count` elements are there; the others become zero.
  template <typename T>
  __device__ __forceinline__ void bring(int place, const T* from, int count) const {
    constexpr int size = Pack<T>::size;
    if (wide && count > 0) return copy_async(own_ + place * threads, from);
    write<true>(reinterpret_cast<T*>(own_ + place * threads), read<false, size>(from, count), size);
  }
  template <typename T>
  __device__ __forceinline__ Chunk<T, Pack<T>::size> get(int place) const {
    return read<true, Pack<T>::size>(reinterpret_cast<const T*>(own_ + place * threads), Pack<T>::size);
  }

 private:
  int4* own_;
};

}  // namespace octet::cuda
