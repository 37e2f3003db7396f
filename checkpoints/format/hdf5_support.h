#pragma once

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoints/format/format.h"
#include "src/base/handle.h"

/// RAII for HDF5's identifiers. Closing is silent: what must not fail is flushed and checked before.
namespace octet::checkpoint {

template <auto function>
using Hdf5Handle = Handle<ClosedBy<hid_t, function, H5I_INVALID_HID>>;

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Group = Hdf5Handle<H5Gclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;

}  // namespace octet::checkpoint

/// What the writer, the reader and the view share. As all of HDF5: one thread of a process at a time.
namespace octet::checkpoint::hdf5 {

/// To be called before anything else of HDF5. Turns off messages on stderr and the clean-up at exit (a file that could
/// not be closed would crash there).
void prepare();

/// HDF5's innermost reason of its last failure on this thread.
std::string reason();
/// Whether that reason is the system's, which refused to read, and says nothing about the file's content.
bool is_failed_read(std::string_view reason);
/// Internal error "PATH: cannot WHAT: reason".
[[noreturn]] void fail(const std::string& path, std::string_view what);
/// Throws by fail() where HDF5 returned a negative value.
hid_t checked(hid_t id, const std::string& path, std::string_view what);
void check(herr_t result, const std::string& path, std::string_view what);

/// Access to files: the format of HDF5 1.10, whose superblock says of a file that was not closed that it was not; no
/// locks, which some parallel file systems refuse, and which add nothing where a file is read after its commit only.
Hdf5Properties file_access(const std::string& path);
/// Creation of files, groups and datasets without time stamps: the same content gives the same bytes.
Hdf5Properties without_times(hid_t property_class, const std::string& path);

Hdf5Space space_of(const Shape& shape, const std::string& path);
/// How a dtype is stored: HDF5 has no bf16 and no fp8, which become unsigned integers with the same bits.
hid_t stored_type(DType dtype);

void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path);
void write_attribute(hid_t object, const char* name, std::span<const std::int64_t> values, const std::string& path);
/// A scalar of that type.
void write_attribute(hid_t object, const char* name, hid_t type, const void* value, const std::string& path);

/// Usage error where the object has no such attribute, or one of another form: no text of fixed length, not of
/// integers, not a single number of the class of `type` (integers, or floating-point numbers).
std::string read_text(hid_t object, const char* name, const std::string& path);
std::vector<std::int64_t> read_integers(hid_t object, const char* name, const std::string& path);
/// A scalar, as that type in memory.
void read_scalar(hid_t object, const char* name, hid_t type, void* value, const std::string& path);

/// Creates the groups that lead to `name` ("a/b" of "a/b/c") where they are not there.
void create_groups(hid_t file, std::string_view name, const std::string& path);

std::vector<hsize_t> sizes(std::span<const std::int64_t> values);

}  // namespace octet::checkpoint::hdf5
