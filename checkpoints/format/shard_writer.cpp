#include <chrono>
#include <cstddef>

#include "checkpoints/format/format.h"
#include "checkpoints/format/hash.h"
#include "checkpoints/format/hdf5_output.h"
#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/shard_file.h"
#include "src/base/seconds_since.h"

// The hash of the file is taken from the file itself, read back once HDF5 has closed it, while the disk writes. HDF5
// writes metadata out of order and more than once, so no hash on the way would be of what stands there in the end; and
// what lies between HDF5 and the file (its caches, this room's driver, the kernel) is inside what the hash vouches for.
// The blocks are still in the page cache, so it costs a pass over memory and not over the disk. That memory reached
// HDF5 unchanged is another question, which the hash that each dataset carries answers: it is taken from the caller's
// memory before.

namespace octet::checkpoint {
namespace {

void write_state(hid_t file, const RunState& state, const std::string& path) {
  const std::int64_t version = format_version;
  hdf5::write_attribute(file, "format", format_name, path);
  hdf5::write_attribute(file, "version", H5T_STD_I64LE, &version, path);
  hdf5::write_attribute(file, "step", H5T_STD_I64LE, &state.step, path);
  hdf5::write_attribute(file, "seed", H5T_STD_U64LE, &state.seed, path);
  hdf5::write_attribute(file, "data_fingerprint", H5T_STD_U64LE, &state.data_fingerprint, path);
  hdf5::write_attribute(file, "loss", H5T_IEEE_F64LE, &state.loss, path);
  hdf5::write_attribute(file, "config", state.config, path);
  hdf5::write_attribute(file, "layout", state.layout, path);
  hdf5::write_attribute(file, "program", state.program, path);
}

void check_piece(const PieceData& piece, const std::string& path) {
  if (!is_tensor_name(piece.tensor.name)) {
    throw internal_error("checkpoints", "{}: bad tensor name {}", path, piece.tensor.name);
  }
  if (!lies_in(piece.box, piece.tensor.shape)) {
    throw internal_error("checkpoints", "{}: the piece {} of tensor {} is empty or not in its shape {}", path,
                         text(piece.box), piece.tensor.name, piece.tensor.shape.text());
  }
}

const void* data_of(const PieceData& piece, const std::string& path) {
  const void* data = piece.data == nullptr && piece.load ? piece.load() : piece.data;
  if (data != nullptr) return data;
  throw internal_error("checkpoints", "{}: no data for {} of tensor {}", path, text(piece.box), piece.tensor.name);
}

Hdf5Properties dataset_creation(const std::string& path) {
  Hdf5Properties creation = hdf5::without_times(H5P_DATASET_CREATE, path);
  hdf5::check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), path, "set the layout");
  hdf5::check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), path, "turn filling off");
  return creation;
}

void write_piece(hid_t file, hid_t creation, const PieceData& piece, const std::string& path) {
  check_piece(piece, path);
  const void* data = data_of(piece, path);
  const DType dtype = piece.tensor.dtype;
  const std::string name = dataset_name(piece.tensor.name, piece.box);
  hdf5::create_groups(file, name, path);
  const Hdf5Space space = hdf5::space_of(piece.box.extent, path);
  const hid_t type = hdf5::stored_type(dtype);
  const Hdf5Dataset dataset(
      hdf5::checked(H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, creation, H5P_DEFAULT), path,
                    "create dataset " + name));
  const auto bytes = static_cast<std::size_t>(piece.box.extent.elements() * size_of(dtype));
  const auto rank = static_cast<std::size_t>(piece.box.extent.rank());
  hdf5::write_attribute(dataset.get(), "tensor", piece.tensor.name, path);
  hdf5::write_attribute(dataset.get(), "dtype", name_of(dtype), path);
  hdf5::write_attribute(dataset.get(), "global_shape", piece.tensor.shape.list(), path);
  hdf5::write_attribute(dataset.get(), "offset", std::span(piece.box.offset).first(rank), path);
  hdf5::write_attribute(dataset.get(), "xxh3_128", hash_of(data, bytes), path);
  hdf5::check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), path, "write dataset " + name);
}

}  // namespace

StoredFile write_shard_file(const std::string& path, const RunState& state, std::span<const PieceData> pieces,
                            double* read_back_seconds) {
  StoredFile written;
  write_hdf5_file(
      path, 0,
      [&](hid_t file, const Hdf5Output& output) {
        write_state(file, state, path);
        const Hdf5Properties creation = dataset_creation(path);
        for (const PieceData& piece : pieces) {
          write_piece(file, creation.get(), piece, path);
          output.throw_if_failed();
        }
      },
      [&](int open) {
        const auto start = std::chrono::steady_clock::now();
        written = hash_file(files::InputFile(path, open), path.substr(path.rfind('/') + 1));
        if (read_back_seconds != nullptr) *read_back_seconds = seconds_since(start);
      });
  return written;
}

}  // namespace octet::checkpoint
