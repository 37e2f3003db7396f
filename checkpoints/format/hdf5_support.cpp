#include "checkpoints/format/hdf5_support.h"

#include <algorithm>
#include <bit>

namespace octet::checkpoint::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "data are stored as they lie in memory");

herr_t keep_innermost(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

// Fixed length: what has a variable one lies in a heap of its own.
Hdf5Type text_type(std::size_t length, const std::string& path) {
  Hdf5Type type(checked(H5Tcopy(H5T_C_S1), path, "make a text type"));
  check(H5Tset_size(type.get(), length == 0 ? 1 : length), path, "size a text type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), path, "pad a text type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), path, "encode a text type");
  return type;
}

void write(hid_t object, const char* name, hid_t type, hid_t space, const void* value, const std::string& path) {
  const Hdf5Attribute attribute(
      checked(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), path, "create an attribute"));
  check(H5Awrite(attribute.get(), type, value), path, "write an attribute");
}

Hdf5Attribute open_attribute(hid_t object, const char* name, const std::string& path) {
  const htri_t exists = H5Aexists(object, name);
  if (exists < 0) fail(path, fmt::format("look for attribute {}", name));
  if (exists == 0) throw usage_error("checkpoints", "{}: has no attribute {}", path, name);
  return Hdf5Attribute(checked(H5Aopen(object, name, H5P_DEFAULT), path, fmt::format("open attribute {}", name)));
}

hssize_t size_of_attribute(hid_t attribute, const std::string& path) {
  const Hdf5Space space(checked(H5Aget_space(attribute), path, "read an attribute's size"));
  return H5Sget_simple_extent_npoints(space.get());
}

H5T_class_t class_of_attribute(hid_t attribute, const std::string& path) {
  const Hdf5Type type(checked(H5Aget_type(attribute), path, "read an attribute's type"));
  return H5Tget_class(type.get());
}

Hdf5Space scalar(const std::string& path) {
  return Hdf5Space(checked(H5Screate(H5S_SCALAR), path, "make a dataspace"));
}

}  // namespace

void prepare() {
  static const herr_t first = H5dont_atexit();  // has to come before any other call
  static_cast<void>(first);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string reason() {
  std::string text = "no reason given by HDF5";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  return text;
}

bool is_failed_read(std::string_view reason) {
  return reason.starts_with("file read failed");
}

void fail(const std::string& path, std::string_view what) {
  throw internal_error("checkpoints", "{}: cannot {}: {}", path, what, reason());
}

hid_t checked(hid_t id, const std::string& path, std::string_view what) {
  if (id < 0) fail(path, what);
  return id;
}

void check(herr_t result, const std::string& path, std::string_view what) {
  if (result < 0) fail(path, what);
}

Hdf5Properties file_access(const std::string& path) {
  Hdf5Properties access(checked(H5Pcreate(H5P_FILE_ACCESS), path, "make file properties"));
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), path, "set the format's version");
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), path, "set how files close");
  check(H5Pset_file_locking(access.get(), false, true), path, "turn file locks off");
  check(H5Pset_meta_block_size(access.get(), std::size_t{64} << 10), path, "set the metadata's block size");
  // Data begin at a page; what is small stays dense.
  check(H5Pset_alignment(access.get(), std::size_t{64} << 10, 4096), path, "set the alignment");
  return access;
}

Hdf5Properties without_times(hid_t property_class, const std::string& path) {
  Hdf5Properties properties(checked(H5Pcreate(property_class), path, "make creation properties"));
  check(H5Pset_obj_track_times(properties.get(), false), path, "turn time stamps off");
  return properties;
}

Hdf5Space space_of(const Shape& shape, const std::string& path) {
  const auto dims = sizes(shape.list());
  return Hdf5Space(checked(H5Screate_simple(shape.rank(), dims.data(), nullptr), path, "make a dataspace"));
}

hid_t stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::bf16:
      return H5T_STD_U16LE;
    case DType::e4m3:
    case DType::e5m2:
    case DType::u8:
      return H5T_STD_U8LE;
  }
  throw internal_error("checkpoints", "dtype {} has no form in a file", static_cast<int>(dtype));
}

void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path) {
  const std::string bytes = text.empty() ? std::string(1, '\0') : std::string(text);
  write(object, name, text_type(text.size(), path).get(), scalar(path).get(), bytes.data(), path);
}

void write_attribute(hid_t object, const char* name, std::span<const std::int64_t> values, const std::string& path) {
  const hsize_t size = values.size();
  const Hdf5Space space(checked(H5Screate_simple(1, &size, nullptr), path, "make a dataspace"));
  write(object, name, H5T_STD_I64LE, space.get(), values.data(), path);
}

void write_attribute(hid_t object, const char* name, hid_t type, const void* value, const std::string& path) {
  write(object, name, type, scalar(path).get(), value, path);
}

std::string read_text(hid_t object, const char* name, const std::string& path) {
  const Hdf5Attribute attribute = open_attribute(object, name, path);
  const Hdf5Type type(checked(H5Aget_type(attribute.get()), path, "read an attribute's type"));
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 ||
      size_of_attribute(attribute.get(), path) != 1) {
    throw usage_error("checkpoints", "{}: attribute {} is not a text of fixed length", path, name);
  }
  const std::size_t length = H5Tget_size(type.get());
  std::string text(length, '\0');
  check(H5Aread(attribute.get(), text_type(length, path).get(), text.data()), path, "read an attribute");
  text.resize(std::min(length, text.find('\0')));
  return text;
}

std::vector<std::int64_t> read_integers(hid_t object, const char* name, const std::string& path) {
  const Hdf5Attribute attribute = open_attribute(object, name, path);
  if (class_of_attribute(attribute.get(), path) != H5T_INTEGER) {
    throw usage_error("checkpoints", "{}: attribute {} is of another type, expected integers", path, name);
  }
  std::vector<std::int64_t> values(
      static_cast<std::size_t>(std::max<hssize_t>(0, size_of_attribute(attribute.get(), path))));
  check(H5Aread(attribute.get(), H5T_STD_I64LE, values.data()), path, "read an attribute");
  return values;
}

void read_scalar(hid_t object, const char* name, hid_t type, void* value, const std::string& path) {
  const Hdf5Attribute attribute = open_attribute(object, name, path);
  if (size_of_attribute(attribute.get(), path) != 1) {
    throw usage_error("checkpoints", "{}: attribute {} is not one number", path, name);
  }
  const H5T_class_t expected = H5Tget_class(type);
  if (class_of_attribute(attribute.get(), path) != expected) {
    throw usage_error("checkpoints", "{}: attribute {} is of another type, expected {}", path, name,
                      expected == H5T_FLOAT ? "a floating-point number" : "an integer");
  }
  check(H5Aread(attribute.get(), type, value), path, fmt::format("read attribute {}", name));
}

void create_groups(hid_t file, std::string_view name, const std::string& path) {
  for (std::size_t end = name.find('/'); end != std::string_view::npos; end = name.find('/', end + 1)) {
    const std::string group(name.substr(0, end));
    if (H5Lexists(file, group.c_str(), H5P_DEFAULT) > 0) continue;
    const Hdf5Properties creation = without_times(H5P_GROUP_CREATE, path);
    const Hdf5Group made(checked(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT), path,
                                 "create group " + group));
  }
}

std::vector<hsize_t> sizes(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace octet::checkpoint::hdf5
