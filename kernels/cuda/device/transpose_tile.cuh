#pragma once

#include <cstdint>

#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {

/// A block's part of a matrix of bytes that is written transposed: 128 rows by 8 · patch_columns columns, through
/// shared memory. Each of the 256 threads brings one patch of 4 rows by patch_columns columns, which it transposes in
/// registers into one word (4 rows of one column) a column.
///
/// word(column, group) of a column's 32 groups of 4 rows lies at group ^ 4 · (column / patch_columns), so that both a
/// warp's stores of single words (8 patches by 4 groups: 32 banks) and 8 neighbouring threads' loads of 16 bytes of a
/// column are free of bank conflicts, and 4 groups in a row stay together.
template <int patch_columns>
struct TransposeTile {
  static constexpr int threads = 256;
  static constexpr int rows = 128;
  static constexpr int columns = 8 * patch_columns;

  alignas(16) std::uint32_t words[columns][rows / 4];

  /// codes[i]: row 4 · group + i, columns patch · patch_columns on.
  __device__ __forceinline__ void put(int patch, int group, const Codes<patch_columns> (&codes)[4]) {
    const int place = group ^ (4 * patch);
    std::uint32_t(*column)[rows / 4] = words + patch * patch_columns;
#pragma unroll
    for (int j = 0; j < patch_columns / 4; ++j, column += 4) {
      const std::uint32_t a = codes[0].v[j], b = codes[1].v[j], c = codes[2].v[j], d = codes[3].v[j];
      const std::uint32_t ab01 = __byte_perm(a, b, 0x5140), ab23 = __byte_perm(a, b, 0x7362);
      const std::uint32_t cd01 = __byte_perm(c, d, 0x5140), cd23 = __byte_perm(c, d, 0x7362);
      column[0][place] = __byte_perm(ab01, cd01, 0x5410);
      column[1][place] = __byte_perm(ab01, cd01, 0x7632);
      column[2][place] = __byte_perm(ab23, cd23, 0x5410);
      column[3][place] = __byte_perm(ab23, cd23, 0x7632);
    }
  }

  /// Writes the tile at (row, column) of a rows_in_all x columns_in_all matrix into y, its transpose: 128 neighbouring
  /// bytes a column. `wide`: y is aligned to 16 bytes and rows_in_all a multiple of 16. All threads call it, after a
  /// barrier behind put.
  __device__ __forceinline__ void write_transposed(std::uint8_t* y, std::int64_t rows_in_all,
                                                   std::int64_t columns_in_all, std::int64_t row, std::int64_t column,
                                                   bool wide) const {
#pragma unroll 4
    for (int unit = static_cast<int>(threadIdx.x); unit < columns * 8; unit += threads) {
      const int c = unit / 8, part = unit % 8;
      const std::int64_t left = rows_in_all - (row + 16 * part);
      if (column + c >= columns_in_all || left <= 0) continue;
      const uint4 word = *reinterpret_cast<const uint4*>(&words[c][(4 * part) ^ (4 * (c / patch_columns))]);
      std::uint8_t* to = y + (column + c) * rows_in_all + row + 16 * part;
      const Codes<16> codes{word.x, word.y, word.z, word.w};
      wide ? write_codes<true, 16>(to, codes, 16) : write_codes<false, 16>(to, codes, left < 16 ? int(left) : 16);
    }
  }
};

/// The place of a thread's patch in tile `block`: tiles go along the columns first.
template <int patch_columns>
struct TilePlace {
  using Tile = TransposeTile<patch_columns>;

  std::int64_t tile_row, tile_column;  ///< first element of the block's tile
  int patch, group;                    ///< of the thread
  std::int64_t row, column;            ///< first element of its patch
  int rows, columns;                   ///< that are there: 0 to 4, 0 to patch_columns

  __device__ __forceinline__ TilePlace(std::int64_t rows_in_all, std::int64_t columns_in_all,
                                       unsigned block = blockIdx.x) {
    const auto across = static_cast<unsigned>((columns_in_all + Tile::columns - 1) / Tile::columns);
    tile_row = std::int64_t{block / across} * Tile::rows;
    tile_column = std::int64_t{block % across} * Tile::columns;
    patch = static_cast<int>(threadIdx.x % 8);
    group = static_cast<int>(threadIdx.x / 8);
    row = tile_row + 4 * group;
    column = tile_column + patch * patch_columns;
    rows = there(rows_in_all - row, 4);
    columns = there(columns_in_all - column, patch_columns);
  }

  /// Row i of the patch in an array of that shape; zero where the matrix ends. `wide`: columns is 0 or patch_columns.
  template <bool wide, typename T>
  __device__ __forceinline__ Chunk<T, patch_columns> read_row(const T* x, std::int64_t columns_in_all, int i) const {
    if (wide && i < rows && columns > 0) return read<true, patch_columns>(at(x, columns_in_all, i), patch_columns);
    return read<false, patch_columns>(at(x, columns_in_all, i), !wide && i < rows ? columns : 0);
  }
  /// The same of codes, four a word; bytes in a Chunk would be taken apart and put together again, one by one.
  template <bool wide>
  __device__ __forceinline__ Codes<patch_columns> read_codes(const std::uint8_t* x, std::int64_t columns_in_all,
                                                             int i) const {
    if constexpr (wide) {
      Codes<patch_columns> codes{};
      if (i < rows && columns > 0)
        codes = read<true, patch_columns / 4>(reinterpret_cast<const std::uint32_t*>(at(x, columns_in_all, i)),
                                              patch_columns / 4);
      return codes;
    } else {
      return pack_bytes(read_row<false>(x, columns_in_all, i));
    }
  }
  template <bool wide>
  __device__ __forceinline__ void write_row(std::uint8_t* y, std::int64_t columns_in_all, int i,
                                            const Codes<patch_columns>& codes) const {
    if (i < rows && columns > 0) write_codes<wide, patch_columns>(at(y, columns_in_all, i), codes, columns);
  }
  template <bool wide, typename T>
  __device__ __forceinline__ void write_row(T* y, std::int64_t columns_in_all, int i,
                                            const Chunk<T, patch_columns>& chunk) const {
    if (i < rows && columns > 0) write<wide>(at(y, columns_in_all, i), chunk, columns);
  }
  template <typename T>
  __device__ __forceinline__ T* at(T* x, std::int64_t columns_in_all, int i) const {
    return x + (row + i) * columns_in_all + column;
  }

 private:
  __device__ __forceinline__ static int there(std::int64_t left, int most) {
    return left <= 0 ? 0 : left < most ? static_cast<int>(left) : most;
  }
};

/// Blocks of a kernel that covers a matrix with tiles.
template <int patch_columns>
unsigned tiles_of(std::int64_t rows, std::int64_t columns) {
  using Tile = TransposeTile<patch_columns>;
  return static_cast<unsigned>(ceil_div(rows, Tile::rows) * ceil_div(columns, Tile::columns));
}

}  // namespace octet::cuda
