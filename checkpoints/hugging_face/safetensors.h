#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files.h"

namespace octet::checkpoint {

/// safetensors: 8 bytes with the length of a JSON header (little endian), the header, the data. The header maps names
/// to
/// {"dtype", "shape", "data_offsets"}, and "__metadata__" to texts. Offsets count from the data's first byte; tensors
/// lie there without gaps and without overlap.

/// A tensor of a file. `dtype` is safetensors' name: F32, BF16, F16, I64, ...
struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< bytes from the first one of the data
  std::int64_t end = 0;

  std::int64_t bytes() const { return end - begin; }
  bool operator==(const SafetensorsEntry&) const = default;
};

/// What a header says; the tensors in the order of their data.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;

  const SafetensorsEntry* find(std::string_view name) const;
  bool operator==(const SafetensorsHeader&) const = default;
};

/// Header of tensors laid one behind the other in the given order, whose `begin` and `end` are set here. Throws
/// internal_error for an order in which a tensor would not lie on a multiple of its elements' size: put the wider
/// types first.
SafetensorsHeader lay_out_safetensors(std::vector<SafetensorsEntry> tensors,
                                      std::map<std::string, std::string> metadata);
/// The length and the header, padded with spaces so that the data start at a multiple of 8.
std::string format_safetensors_header(const SafetensorsHeader& header);
/// Reads the header from the JSON text alone; `data_bytes` is what follows it in the file. Throws a usage error that
/// names `path` and what is wrong: no JSON object, a name twice, an unknown dtype, a shape or offsets that do not fit
/// each other, gaps, overlaps, bytes that belong to no tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::int64_t data_bytes, const std::string& path);

/// An open file whose header was checked against its size. Const members may be called from several threads.
class SafetensorsReader {
 public:
  /// Opens the file and reads its header. Throws a usage error for a file that is not there, is no regular one, is a
  /// pointer of Git LFS, or whose header is not of its size (parse_safetensors_header); files::ReadError
  /// (src/base/read_file.h) where the file system does not give it (EIO, ESTALE, EACCES ...), so that a caller can try
  /// again.
  explicit SafetensorsReader(std::string path);

  const SafetensorsHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  /// Bytes [first, first + bytes) of a tensor. Throws files::ReadError.
  void read(const SafetensorsEntry& tensor, std::int64_t first, std::int64_t bytes, void* to) const;

 private:
  std::string path_;
  FileHandle file_;
  std::int64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

/// Writes a new file: the header at once, then the data in order, in pieces of any size. A file that was not finished
/// stays behind as it is: write into a directory that is renamed when all of it is whole.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::string path, const SafetensorsHeader& header);

  /// Throws internal_error with path and the system's reason, as finish() does.
  void append(const void* data, std::int64_t bytes);
  /// Checks that all bytes have come, and that they are on the disk (fsync).
  void finish();

 private:
  std::string path_;
  FileHandle file_;
  std::int64_t left_ = 0;
};

}  // namespace octet::checkpoint
