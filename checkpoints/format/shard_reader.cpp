#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "checkpoints/format/format.h"
#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/format/shard_file.h"
#include "checkpoints/format/unknown_format.h"

namespace octet::checkpoint {
namespace {

// A hyperslab of few long rows is read by rows, one of many short rows through a buffer of this size.
constexpr std::size_t sieve_bytes = std::size_t{1} << 20;

/// Holds the metadata that HDF5 keeps of an open file to what leads to a dataset. Of its own it keeps all that it has
/// seen, 8 MiB of a file of 2,800 pieces, of which each is looked at once; many files may be open. What a dataset has
/// goes when it is closed, so that half of 64 KiB leads to the next one without a read more: a file takes 0.85 MiB in
/// place of 1.5. (0.55 MiB of it is the table by which the cache finds what it has, whose length is fixed.)
void keep_little_metadata(hid_t access, const std::string& path) {
  constexpr std::size_t bytes = std::size_t{32} << 10;
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  hdf5::check(H5Pget_mdc_config(access, &cache), path, "look at the cache of metadata");
  cache.set_initial_size = true;
  cache.initial_size = cache.min_size = cache.max_size = bytes;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  hdf5::check(H5Pset_mdc_config(access, &cache), path, "set the cache of metadata");
#ifndef H5_HAVE_PARALLEL  // a library with MPI refuses it: what a dataset has then stays while its file is open
  hdf5::check(H5Pset_evict_on_close(access, true), path, "let metadata of closed datasets go");
#endif
}

const char* kind_of(H5L_type_t link) {
  return link == H5L_TYPE_SOFT ? "a soft" : link == H5L_TYPE_EXTERNAL ? "an external" : "a user-defined";
}

/// Links of other kinds lead out of what the name says, and out of the file. Those on the way to a dataset count too.
void expect_hard_links(hid_t file, const std::string& name, const std::string& path) {
  for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    H5L_info_t link{};
    const htri_t exists = H5Lexists(file, part.c_str(), H5P_DEFAULT);
    if (exists < 0) hdf5::fail(path, "look for dataset " + name);
    if (exists == 0) throw usage_error("checkpoints", "{}: no dataset {}, which the manifest lists", path, name);
    hdf5::check(H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT), path, "look for dataset " + name);
    if (link.type != H5L_TYPE_HARD) {
      throw usage_error("checkpoints", "{}: dataset {}: {} is {} link, expected the dataset itself", path, name, part,
                        kind_of(link.type));
    }
    if (end == std::string::npos) return;
  }
}

/// The data are bytes of this file, side by side.
void expect_internal(hid_t dataset, const std::string& name, const std::string& path) {
  const Hdf5Properties creation(hdf5::checked(H5Dget_create_plist(dataset), path, "read how " + name + " is stored"));
  const auto refused = [&](const char* found) {
    return usage_error("checkpoints", "{}: dataset {} is {}, expected contiguous data in this file", path, name, found);
  };
  switch (H5Pget_layout(creation.get())) {
    case H5D_CONTIGUOUS:
      break;
    case H5D_CHUNKED:
      throw refused("chunked");
    case H5D_COMPACT:
      throw refused("compact");
    case H5D_VIRTUAL:
      throw refused("virtual, put together from other datasets");
    default:
      throw refused("of an unknown layout");
  }
  if (H5Pget_external_count(creation.get()) != 0) throw refused("stored in external files");
  if (H5Dget_offset(dataset) == HADDR_UNDEF) throw refused("without data");
}

Hdf5Dataset open_dataset(hid_t file, const std::string& name, const std::string& path) {
  expect_hard_links(file, name, path);
  Hdf5Dataset dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  if (!dataset) {
    const std::string reason = hdf5::reason();
    if (hdf5::is_failed_read(reason)) throw files::ReadError(path, reason);
    throw usage_error("checkpoints", "{}: no dataset {}, which the manifest lists: {}", path, name, reason);
  }
  expect_internal(dataset.get(), name, path);
  return dataset;
}

void expect_type(hid_t dataset, const std::string& name, DType dtype, const std::string& path) {
  const Hdf5Type type(hdf5::checked(H5Dget_type(dataset), path, "read the type of " + name));
  const std::string found = hdf5::read_text(dataset, "dtype", path);
  if (found != name_of(dtype) || H5Tequal(type.get(), hdf5::stored_type(dtype)) <= 0) {
    throw usage_error("checkpoints", "{}: dataset {} is {} of {} bytes, the manifest says {}", path, name, found,
                      H5Tget_size(type.get()), name_of(dtype));
  }
}

void expect_box(hid_t dataset, hid_t space, const StoredPiece& piece, const std::string& name,
                const std::string& path) {
  std::vector<std::int64_t> extent(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  std::vector<hsize_t> dims(extent.size());
  if (!dims.empty()) {
    hdf5::check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), path, "read the size of " + name);
  }
  std::copy(dims.begin(), dims.end(), extent.begin());
  const auto rank = static_cast<std::size_t>(piece.box.extent.rank());
  const std::vector<std::int64_t> offset(piece.box.offset.begin(), piece.box.offset.begin() + rank);
  const auto found = hdf5::read_integers(dataset, "offset", path);
  if (extent != piece.box.extent.list() || found != offset) {
    throw usage_error("checkpoints", "{}: dataset {} holds [{}] + [{}], the manifest says {}", path, name,
                      fmt::join(found, ", "), fmt::join(extent, ", "), text(piece.box));
  }
}

Error says_otherwise(const std::string& where, const char* attribute, const auto& found, const auto& expected) {
  return usage_error("checkpoints", "{}: attribute {} is {}, the manifest says {}", where, attribute, found, expected);
}

/// A configuration has many lines.
std::string quoted(const std::string& text) {
  constexpr std::size_t most = 60;
  return '"' + (text.size() > most ? text.substr(0, most) + "..." : text) + '"';
}

void expect_text(hid_t object, const char* attribute, const std::string& expected, const std::string& where) {
  const std::string found = hdf5::read_text(object, attribute, where);
  if (found != expected) throw says_otherwise(where, attribute, quoted(found), quoted(expected));
}

template <typename T>
void expect_number(hid_t object, const char* attribute, hid_t type, T expected, const std::string& where) {
  T found{};
  hdf5::read_scalar(object, attribute, type, &found, where);
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(found) && !std::isfinite(expected)) return;  // a manifest has no number for these
  }
  if (found != expected) throw says_otherwise(where, attribute, found, expected);
}

/// One that has none is refused by expect_state.
void expect_known_version(hid_t file, const std::string& path) {
  if (H5Aexists(file, "version") <= 0) return;
  std::int64_t version = 0;
  hdf5::read_scalar(file, "version", H5T_NATIVE_INT64, &version, path);
  if (version <= format_version) return;
  throw UnknownFormat(path, fmt::format("of version {}, which this program does not know (it reads {} in such files)",
                                        version, format_version));
}

}  // namespace

struct ShardReader::Impl {
  std::string path;
  Hdf5File file;
};

ShardReader::ShardReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  hdf5::prepare();
  impl_->path = path;
  const Hdf5Properties access = hdf5::file_access(path);
  hdf5::check(H5Pset_sieve_buf_size(access.get(), sieve_bytes), path, "set the sieve buffer");
  keep_little_metadata(access.get(), path);
  impl_->file.reset(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (impl_->file) {
    expect_known_version(impl_->file.get(), path);
    return;
  }
  const std::string reason = hdf5::reason();
  const files::InputFile there(path);  // throws a reason with a number, which HDF5 has not
  if (hdf5::is_failed_read(reason) || H5Fis_hdf5(path.c_str()) < 0) throw files::ReadError(path, reason);
  throw usage_error("checkpoints", "cannot open {}: {}", path, reason);
}

ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

void ShardReader::read(const StoredPiece& piece, const StoredTensor& tensor, const Box& from, void* to) const {
  const std::string &path = impl_->path, name = dataset_name(tensor.name, piece.box);
  const Hdf5Dataset dataset = open_dataset(impl_->file.get(), name, path);
  const Hdf5Space space(hdf5::checked(H5Dget_space(dataset.get()), path, "read the size of " + name));
  expect_type(dataset.get(), name, tensor.dtype, path);
  expect_box(dataset.get(), space.get(), piece, name, path);
  if (!lies_in(from, piece.box.extent)) {
    throw usage_error("checkpoints", "{}: {} was asked for of dataset {} of shape {}", path, text(from), name,
                      piece.box.extent.text());
  }
  const auto rank = static_cast<std::size_t>(from.extent.rank());
  const auto offset = hdf5::sizes(std::span(from.offset).first(rank)), count = hdf5::sizes(from.extent.list());
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr), path,
              "select a part of " + name);
  const Hdf5Space memory = hdf5::space_of(from.extent, path);
  hdf5::check(H5Dread(dataset.get(), hdf5::stored_type(tensor.dtype), memory.get(), space.get(), H5P_DEFAULT, to), path,
              "read dataset " + name);
}

void ShardReader::expect_state(const RunState& state) const {
  const std::string& path = impl_->path;
  const hid_t file = impl_->file.get();
  expect_text(file, "format", format_name, path);
  expect_number(file, "version", H5T_NATIVE_INT64, std::int64_t{format_version}, path);
  expect_number(file, "step", H5T_NATIVE_INT64, state.step, path);
  expect_number(file, "seed", H5T_NATIVE_UINT64, state.seed, path);
  expect_number(file, "data_fingerprint", H5T_NATIVE_UINT64, state.data_fingerprint, path);
  expect_number(file, "loss", H5T_NATIVE_DOUBLE, state.loss, path);
  expect_text(file, "config", state.config, path);
  expect_text(file, "layout", state.layout, path);
  expect_text(file, "program", state.program, path);
}

StoredData ShardReader::locate(const StoredPiece& piece, const StoredTensor& tensor) const {
  const std::string &path = impl_->path, name = dataset_name(tensor.name, piece.box);
  const Hdf5Dataset dataset = open_dataset(impl_->file.get(), name, path);
  const Hdf5Space space(hdf5::checked(H5Dget_space(dataset.get()), path, "read the size of " + name));
  const std::string where = fmt::format("{}: dataset {}", path, name);
  expect_type(dataset.get(), name, tensor.dtype, path);
  expect_box(dataset.get(), space.get(), piece, name, path);
  expect_text(dataset.get(), "tensor", tensor.name, where);
  const auto shape = hdf5::read_integers(dataset.get(), "global_shape", where);
  if (shape != tensor.shape.list()) {
    throw says_otherwise(where, "global_shape", fmt::format("[{}]", fmt::join(shape, ", ")), tensor.shape.text());
  }
  return {static_cast<std::int64_t>(H5Dget_offset(dataset.get())),
          piece.box.extent.elements() * static_cast<std::int64_t>(size_of(tensor.dtype)),
          hdf5::read_text(dataset.get(), "xxh3_128", where)};
}

}  // namespace octet::checkpoint
