#include "kernels/swiglu.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/own_places.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// 1 / (1 + e^-x) and x / (1 + e^-x). bf16 results keep 8 bits: the hardware's exponential and reciprocal (relative
/// error below 1e-6) are as good there, and a third of the instructions.
template <typename T>
__device__ __forceinline__ float over_one_plus_exp(float numerator, float x) {
  if constexpr (std::is_same_v<T, float>) return numerator / (1.0f + expf(-x));
  return __fdividef(numerator, 1.0f + __expf(-x));
}

/// y of one pack, rounded to T; its statistics as stored.
template <typename T, int size>
__device__ __forceinline__ Chunk<T, size> forward_pack(const Chunk<T, size>& gate, const Chunk<T, size>& up,
                                                       StatsFold& fold) {
  Chunk<T, size> y;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float g = to_float(gate.v[j]);
    y.v[j] = from_float<T>(over_one_plus_exp<T>(g, g) * to_float(up.v[j]));
    fold.add(to_float(y.v[j]));
  }
  return y;
}

template <typename T, int size>
struct Gradients {
  Chunk<T, size> gate, up;
};

/// With s = sigmoid(gate):  d_up = dy · gate · s;  d_gate = dy · up · s · (1 + gate · (1 - s)).
template <typename T, int size>
__device__ __forceinline__ Gradients<T, size> backward_pack(const Chunk<T, size>& gate, const Chunk<T, size>& up,
                                                            const Chunk<T, size>& dy, StatsFold& gate_fold,
                                                            StatsFold& up_fold) {
  Gradients<T, size> d;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float g = to_float(gate.v[j]), u = to_float(up.v[j]), dyj = to_float(dy.v[j]);
    const float s = over_one_plus_exp<T>(1.0f, g);
    d.gate.v[j] = from_float<T>(dyj * u * s * (1.0f + g * (1.0f - s)));
    d.up.v[j] = from_float<T>(dyj * g * s);
    gate_fold.add(to_float(d.gate.v[j]));
    up_fold.add(to_float(d.up.v[j]));
  }
  return d;
}

__device__ __forceinline__ std::uint8_t* bytes(void* p) {
  return static_cast<std::uint8_t*>(p);
}

/// n · sizeof(T) · (2 reads + 1 write), n more where float8 is asked for.
template <typename T>
__global__ void __launch_bounds__(threads) forward_kernel(SwigluForward args, std::int64_t packs) {
  constexpr int size = Pack<T>::size;
  const auto *gate = static_cast<const T*>(args.gate), *up = static_cast<const T*>(args.up);
  const Float8Cast cast = float8_cast(args.float8);
  StatsFold fold;
  for_packs<size>(args.n, packs, [&](auto full, std::int64_t at, int count) {
    const auto y = forward_pack(read<full, size>(gate + at, count), read<full, size>(up + at, count), fold);
    if (args.y != nullptr) write<full>(static_cast<T*>(args.y) + at, y, count);
    if (args.float8.y != nullptr) write_codes<full, size>(bytes(args.float8.y) + at, cast(y), count);
  });
  fold.publish(args.stats);
}

/// n · sizeof(T) · (3 reads + 2 writes), n more for each float8 form. Without a place for a gradient it is measured
/// alone.
template <typename T>
__global__ void __launch_bounds__(threads) backward_kernel(SwigluBackward args, std::int64_t packs) {
  constexpr int size = Pack<T>::size;
  const auto *gate = static_cast<const T*>(args.gate), *up = static_cast<const T*>(args.up);
  const auto* dy = static_cast<const T*>(args.dy);
  const Float8Cast gate_cast = float8_cast(args.gate_float8), up_cast = float8_cast(args.up_float8);
  StatsFold gate_fold, up_fold;
  for_packs<size>(args.n, packs, [&](auto full, std::int64_t at, int count) {
    const auto d = backward_pack(read<full, size>(gate + at, count), read<full, size>(up + at, count),
                                 read<full, size>(dy + at, count), gate_fold, up_fold);
    if (args.d_gate != nullptr) write<full>(static_cast<T*>(args.d_gate) + at, d.gate, count);
    if (args.d_up != nullptr) write<full>(static_cast<T*>(args.d_up) + at, d.up, count);
    if (args.gate_float8.y != nullptr)
      write_codes<full, size>(bytes(args.gate_float8.y) + at, gate_cast(d.gate), count);
    if (args.up_float8.y != nullptr) write_codes<full, size>(bytes(args.up_float8.y) + at, up_cast(d.up), count);
  });
  gate_fold.publish(args.gate_stats);
  up_fold.publish(args.up_stats);
}

/// As forward_kernel, by tiles: n · (3 · sizeof(T) + 2) bytes with both float8 forms. Elements beyond the matrix are
/// zero in and zero out, and so leave no mark on the statistics.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads)
    forward_tiles_kernel(SwigluForward args, std::int64_t rows, bool wide_transposed) {
  constexpr int size = Pack<T>::size;
  __shared__ TransposeTile<size> tile;
  const std::int64_t columns = args.columns;
  const TilePlace<size> place(rows, columns);
  const Float8Cast cast = float8_cast(args.float8);
  StatsFold fold;
  Chunk<T, size> gate[4], up[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    gate[i] = place.template read_row<wide>(static_cast<const T*>(args.gate), columns, i);
    up[i] = place.template read_row<wide>(static_cast<const T*>(args.up), columns, i);
  }
  Codes<size> codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Chunk<T, size> y = forward_pack(gate[i], up[i], fold);
    if (args.y != nullptr) place.template write_row<wide>(static_cast<T*>(args.y), columns, i, y);
    codes[i] = cast(y);
    place.template write_row<wide>(bytes(args.float8.y), columns, i, codes[i]);
  }
  tile.put(place.patch, place.group, codes);
  __syncthreads();
  tile.write_transposed(bytes(args.float8.y_transposed), rows, columns, place.tile_row, place.tile_column,
                        wide_transposed);
  fold.publish(args.stats);
}

template <int size>
__device__ __forceinline__ void write_tile(const Float8Out& out, const TransposeTile<size>& tile,
                                           const TilePlace<size>& place, std::int64_t rows, std::int64_t columns,
                                           bool wide) {
  if (out.y == nullptr || out.y_transposed == nullptr) return;
  tile.write_transposed(bytes(out.y_transposed), rows, columns, place.tile_row, place.tile_column, wide);
}

/// Blocks that stay, of which an H100's multiprocessors hold two where packs are aligned: they go along the rows of
/// tiles side by side.
constexpr unsigned most_tile_blocks = h100_multiprocessors * 2;
constexpr int operands = 3;

/// As backward_kernel, by tiles: n · (5 · sizeof(T) + 4) bytes with all float8 forms. As a thread works on a row of its
/// patch, it has that of the block's next tile brought to the places that become free, so that loads never stop.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads, wide ? 2 : 1)
    backward_tiles_kernel(SwigluBackward args, std::int64_t rows, unsigned tiles, bool wide_transposed) {
  constexpr int size = Pack<T>::size;
  __shared__ TransposeTile<size> gate_tile, up_tile;
  const OwnPlaces<threads, wide> own(dynamic_shared<int4>());
  const std::int64_t columns = args.columns;
  const Float8Cast gate_cast = float8_cast(args.gate_float8), up_cast = float8_cast(args.up_float8);
  const auto fetch = [&](unsigned tile, int i) {
    if (tile >= tiles) return;
    const TilePlace<size> place(rows, columns, tile);
    const int count = i < place.rows ? place.columns : 0;
    own.bring(operands * i, place.at(static_cast<const T*>(args.gate), columns, i), count);
    own.bring(operands * i + 1, place.at(static_cast<const T*>(args.up), columns, i), count);
    own.bring(operands * i + 2, place.at(static_cast<const T*>(args.dy), columns, i), count);
  };
#pragma unroll
  for (int i = 0; i < 4; ++i) fetch(blockIdx.x, i);
  commit_copies();
  StatsFold gate_fold, up_fold;
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const TilePlace<size> place(rows, columns, tile);
    Codes<size> gate_codes[4], up_codes[4];
    wait_for_copies<0>();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Gradients<T, size> d =
          backward_pack(own.template get<T>(operands * i), own.template get<T>(operands * i + 1),
                        own.template get<T>(operands * i + 2), gate_fold, up_fold);
      fetch(tile + gridDim.x, i);
      if (args.d_gate != nullptr) place.template write_row<wide>(static_cast<T*>(args.d_gate), columns, i, d.gate);
      if (args.d_up != nullptr) place.template write_row<wide>(static_cast<T*>(args.d_up), columns, i, d.up);
      gate_codes[i] = gate_cast(d.gate);
      up_codes[i] = up_cast(d.up);
      if (args.gate_float8.y != nullptr)
        place.template write_row<wide>(bytes(args.gate_float8.y), columns, i, gate_codes[i]);
      if (args.up_float8.y != nullptr) place.template write_row<wide>(bytes(args.up_float8.y), columns, i, up_codes[i]);
    }
    commit_copies();
    __syncthreads();  // the tiles before have been read
    gate_tile.put(place.patch, place.group, gate_codes);
    up_tile.put(place.patch, place.group, up_codes);
    __syncthreads();
    write_tile(args.gate_float8, gate_tile, place, rows, columns, wide_transposed);
    write_tile(args.up_float8, up_tile, place, rows, columns, wide_transposed);
  }
  gate_fold.publish(args.gate_stats);
  up_fold.publish(args.up_stats);
}

bool transposed(const Float8Out& out) {
  return out.wanted() && out.y_transposed != nullptr;
}

}  // namespace

void swiglu_forward(Stream& stream, const SwigluForward& args) {
  if (args.n == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    constexpr int size = Pack<T>::size;
    const bool can_be_wide = aligned(16, args.gate, args.up, args.y) && aligned(size, args.float8.y);
    if (!transposed(args.float8)) {
      const std::int64_t packs = can_be_wide ? args.n / size : 0;
      forward_kernel<T><<<blocks_for(args.n, threads * size), threads, 0, native(stream)>>>(args, packs);
      return;
    }
    const bool wide = can_be_wide && args.columns % size == 0;
    const std::int64_t rows = args.n / args.columns;
    const auto kernel = wide ? forward_tiles_kernel<T, true> : forward_tiles_kernel<T, false>;
    kernel<<<tiles_of<size>(rows, args.columns), threads, 0, native(stream)>>>(
        args, rows, aligned_to_16(rows, args.float8.y_transposed));
  });
  check_launch("swiglu_forward");
}

void swiglu_backward(Stream& stream, const SwigluBackward& args) {
  if (args.n == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    constexpr int size = Pack<T>::size;
    const bool can_be_wide = aligned(16, args.gate, args.up, args.dy, args.d_gate, args.d_up) &&
                             aligned(size, args.gate_float8.y, args.up_float8.y);
    if (!transposed(args.gate_float8) && !transposed(args.up_float8)) {
      const std::int64_t packs = can_be_wide ? args.n / size : 0;
      backward_kernel<T><<<blocks_for(args.n, threads * size), threads, 0, native(stream)>>>(args, packs);
      return;
    }
    const bool wide = can_be_wide && args.columns % size == 0;
    const std::int64_t rows = args.n / args.columns;
    const unsigned tiles = tiles_of<size>(rows, args.columns);
    const auto kernel = wide ? backward_tiles_kernel<T, true> : backward_tiles_kernel<T, false>;
    constexpr int shared = OwnPlaces<threads, true>::bytes_of(4 * operands);
    allow_shared_memory(kernel, shared);
    kernel<<<std::min(tiles, most_tile_blocks), threads, shared, native(stream)>>>(
        args, rows, tiles, aligned_to_16(rows, args.gate_float8.y_transposed, args.up_float8.y_transposed));
  });
  check_launch("swiglu_backward");
}

}  // namespace octet::cuda
