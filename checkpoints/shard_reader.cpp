#include <fmt/ranges.h>

#include <algorithm>

#include "checkpoints/box.h"
#include "checkpoints/hdf5_support.h"
#include "checkpoints/shard_file.h"

namespace octet::checkpoint {
namespace {

// A hyperslab of few long rows is read by rows, one of many short rows through a buffer of this size.
constexpr std::size_t sieve_bytes = std::size_t{1} << 20;

Hdf5Dataset open_dataset(hid_t file, const std::string& name, const std::string& path) {
  Hdf5Dataset dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  if (!dataset) {
    throw usage_error("checkpoints", "{}: no dataset {}, which the manifest lists: {}", path, name, hdf5::reason());
  }
  return dataset;
}

void expect_type(hid_t dataset, const StoredPiece& piece, DType dtype, const std::string& path) {
  const Hdf5Type type(hdf5::checked(H5Dget_type(dataset), path, "read the type of " + piece.dataset));
  const std::string found = hdf5::read_text(dataset, "dtype", path);
  if (found != name_of(dtype) || H5Tequal(type.get(), hdf5::stored_type(dtype)) <= 0) {
    throw usage_error("checkpoints", "{}: dataset {} is {} of {} bytes, the manifest says {}", path, piece.dataset,
                      found, H5Tget_size(type.get()), name_of(dtype));
  }
}

void expect_box(hid_t dataset, hid_t space, const StoredPiece& piece, const std::string& path) {
  std::vector<std::int64_t> extent(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  std::vector<hsize_t> dims(extent.size());
  if (!dims.empty()) {
    hdf5::check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), path, "read the size of " + piece.dataset);
  }
  std::copy(dims.begin(), dims.end(), extent.begin());
  const auto rank = static_cast<std::size_t>(piece.box.extent.rank());
  const std::vector<std::int64_t> offset(piece.box.offset.begin(), piece.box.offset.begin() + rank);
  const auto found = hdf5::read_integers(dataset, "offset", path);
  if (extent != hdf5::list(piece.box.extent) || found != offset) {
    throw usage_error("checkpoints", "{}: dataset {} holds [{}] + [{}], the manifest says {}", path, piece.dataset,
                      fmt::join(found, ", "), fmt::join(extent, ", "), text(piece.box));
  }
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
  impl_->file.reset(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!impl_->file) throw usage_error("checkpoints", "cannot open {}: {}", path, hdf5::reason());
}

ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;
ShardReader& ShardReader::operator=(ShardReader&&) noexcept = default;

void ShardReader::read(const StoredPiece& piece, DType dtype, const Box& from, void* to) const {
  const std::string& path = impl_->path;
  const Hdf5Dataset dataset = open_dataset(impl_->file.get(), piece.dataset, path);
  const Hdf5Space space(hdf5::checked(H5Dget_space(dataset.get()), path, "read the size of " + piece.dataset));
  expect_type(dataset.get(), piece, dtype, path);
  expect_box(dataset.get(), space.get(), piece, path);
  if (!lies_in(from, piece.box.extent)) {
    throw usage_error("checkpoints", "{}: {} was asked for of dataset {} of shape {}", path, text(from), piece.dataset,
                      piece.box.extent.text());
  }
  const auto rank = static_cast<std::size_t>(from.extent.rank());
  const auto offset = hdf5::sizes(std::span(from.offset).first(rank)), count = hdf5::sizes(hdf5::list(from.extent));
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr), path,
              "select a part of " + piece.dataset);
  const Hdf5Space memory = hdf5::space_of(from.extent, path);
  hdf5::check(H5Dread(dataset.get(), hdf5::stored_type(dtype), memory.get(), space.get(), H5P_DEFAULT, to), path,
              "read dataset " + piece.dataset);
}

}  // namespace octet::checkpoint
