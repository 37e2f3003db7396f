#include "checkpoints/format/view.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "checkpoints/format/format.h"
#include "checkpoints/format/hash.h"
#include "checkpoints/format/hdf5_output.h"
#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/manifest.h"
#include "checkpoints/format/shard_file.h"
#include "src/base/files.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {
namespace {

// HDF5 leaves the first bytes of a file to its user. Here: the hash of the manifest that the view was made from, and
// that of the rest of the file.
constexpr std::int64_t header_bytes = 4096;  // at least the file's alignment

std::string header(const std::string& manifest_hash, const std::string& rest_hash) {
  std::string text = "octet view " + manifest_hash + " " + rest_hash + "\n";
  text.resize(header_bytes, '\0');
  return text;
}

std::string hash_of_rest(const files::InputFile& view) {
  return hash_data(view, header_bytes, std::numeric_limits<std::int64_t>::max());
}

Hdf5Properties virtual_creation(const Manifest& manifest, const std::vector<const StoredPiece*>& pieces,
                                const StoredTensor& tensor, const std::string& path) {
  Hdf5Properties creation = hdf5::without_times(H5P_DATASET_CREATE, path);
  const Hdf5Space space = hdf5::space_of(tensor.shape, path);
  const auto rank = static_cast<std::size_t>(tensor.shape.rank());
  for (const StoredPiece* piece : pieces) {
    const auto offset = hdf5::sizes(std::span(piece->box.offset).first(rank));
    const auto count = hdf5::sizes(piece->box.extent.list());
    hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr), path,
                "select a piece");
    const Hdf5Space source = hdf5::space_of(piece->box.extent, path);
    const std::string& file = manifest.files[static_cast<std::size_t>(piece->file)].name;
    hdf5::check(H5Pset_virtual(creation.get(), space.get(), file.c_str(), dataset_name(tensor.name, piece->box).c_str(),
                               source.get()),
                path, "map a piece");
  }
  if (tensor.dtype == DType::f32) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    hdf5::check(H5Pset_fill_value(creation.get(), H5T_IEEE_F32LE, &nan), path, "set the fill value");
  }
  return creation;
}

void write_tensor(hid_t file, const Manifest& manifest, const std::vector<const StoredPiece*>& pieces,
                  const StoredTensor& tensor, const std::string& path) {
  hdf5::create_groups(file, tensor.name, path);
  const Hdf5Properties creation = virtual_creation(manifest, pieces, tensor, path);
  const Hdf5Space space = hdf5::space_of(tensor.shape, path);
  const Hdf5Dataset dataset(hdf5::checked(H5Dcreate2(file, tensor.name.c_str(), hdf5::stored_type(tensor.dtype),
                                                     space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                          path, "create dataset " + tensor.name));
  hdf5::write_attribute(dataset.get(), "dtype", name_of(tensor.dtype), path);
}

void write_header(int file, const std::string& manifest_hash, const std::string& path) {
  const std::string text = header(manifest_hash, hash_of_rest(files::InputFile(path, file)));
  if (write_all_at(file, 0, text.data(), text.size())) return;
  throw internal_error("checkpoints", "cannot write the header of {}: {}", path, std::strerror(errno));
}

void write_tensors(const std::string& path, const Manifest& manifest, const std::string& manifest_hash) {
  std::vector<std::vector<const StoredPiece*>> pieces(manifest.tensors.size());
  for (const StoredPiece& piece : manifest.pieces) pieces[static_cast<std::size_t>(piece.tensor)].push_back(&piece);
  const auto fill = [&](hid_t file, const Hdf5Output& output) {
    hdf5::write_attribute(
        file, "note", "Virtual datasets over the shard files, for looking. Missing shards read as fill values.", path);
    hdf5::write_attribute(file, "step", H5T_STD_I64LE, &manifest.state.step, path);
    for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
      if (pieces[t].empty()) continue;  // of no elements
      write_tensor(file, manifest, pieces[t], manifest.tensors[t], path);
      output.throw_if_failed();
    }
  };
  write_hdf5_file(path, header_bytes, fill, [&](int file) { write_header(file, manifest_hash, path); });
}

}  // namespace

void write_view(const std::string& checkpoint_directory) {
  const std::string manifest_path = checkpoint_directory + "/" + manifest_name;
  const std::string manifest = files::read_file(manifest_path);
  const std::string path = checkpoint_directory + "/" + view_name, temporary = path + ".tmp";
  if (::unlink(temporary.c_str()) != 0 && errno != ENOENT) {
    throw internal_error("checkpoints", "cannot remove {}: {}", temporary, std::strerror(errno));
  }
  try {
    write_tensors(temporary, parse_manifest(manifest, manifest_path), self_hash(manifest));
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
      throw internal_error("checkpoints", "cannot rename {} to {}: {}", temporary, path, std::strerror(errno));
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

bool view_is_current(const std::string& checkpoint_directory) {
  const std::string path = checkpoint_directory + "/" + view_name;
  if (::access(path.c_str(), R_OK) != 0) return false;
  const std::string manifest = self_hash(files::read_file(checkpoint_directory + "/" + manifest_name));
  const files::InputFile view(path);
  std::string found;
  view.read_blocks([&](std::span<const char> block) { found.append(block.data(), block.size()); }, {0, header_bytes});
  return !manifest.empty() && found == header(manifest, hash_of_rest(view));
}

bool ensure_view(const std::string& checkpoint_directory) {
  if (view_is_current(checkpoint_directory)) return false;
  write_view(checkpoint_directory);
  return true;
}

}  // namespace octet::checkpoint
