#include "checkpoints/format/hdf5_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"

namespace octet::checkpoint {
namespace {

constexpr std::size_t block_bytes = std::size_t{8} << 20;

// ---- the driver: an open file of HDF5, and the functions that HDF5 calls

struct OpenFile {
  H5FD_t base;  // HDF5's part comes first
  Hdf5Output* output;
  haddr_t end_of_allocated;
};

OpenFile& open_file(H5FD_t* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
const OpenFile& open_file(const H5FD_t* file) {
  return *reinterpret_cast<const OpenFile*>(file);
}

H5FD_t* open_callback(const char*, unsigned, hid_t access, haddr_t) {
  const void* output = H5Pget_driver_info(access);
  if (output == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenFile{};
  if (file == nullptr) return nullptr;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the pointer is what HDF5 keeps and hands over
  std::memcpy(&file->output, output, sizeof file->output);
  return &file->base;
}

herr_t close_callback(H5FD_t* file) {
  delete &open_file(file);
  return 0;
}

herr_t query_callback(const H5FD_t*, unsigned long* flags) {
  // Small writes are collected; the file is one that HDF5's own driver reads.
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA |
           H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t allocated_callback(const H5FD_t* file, H5FD_mem_t) {
  return open_file(file).end_of_allocated;
}

herr_t allocate_callback(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  open_file(file).end_of_allocated = end;
  return 0;
}

haddr_t size_callback(const H5FD_t* file, H5FD_mem_t) {
  return static_cast<haddr_t>(open_file(file).output->size());
}

herr_t read_callback(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes, void* to) {
  open_file(file).output->read(static_cast<std::int64_t>(offset), static_cast<char*>(to), bytes);
  return 0;
}

herr_t write_callback(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes, const void* from) {
  open_file(file).output->write(static_cast<std::int64_t>(offset), static_cast<const char*>(from), bytes);
  return 0;
}

herr_t truncate_callback(H5FD_t* file, hid_t, hbool_t) {
  open_file(file).output->set_size(static_cast<std::int64_t>(open_file(file).end_of_allocated));
  return 0;
}

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t functions{};  // by name: later versions of HDF5 add and move members
#ifdef H5FD_CLASS_VERSION      // since HDF5 1.14
    functions.version = H5FD_CLASS_VERSION;
    functions.value = H5_VFD_RESERVED + 255;  // from 256 to 511: drivers that nobody has registered
#endif
    functions.name = "octet";
    functions.maxaddr = HADDR_MAX / 2;
    functions.fc_degree = H5F_CLOSE_STRONG;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): HDF5 copies the pointer, not the output
    functions.fapl_size = sizeof(Hdf5Output*);
    functions.open = open_callback;
    functions.close = close_callback;
    functions.query = query_callback;
    functions.get_eoa = allocated_callback;
    functions.set_eoa = allocate_callback;
    functions.get_eof = size_callback;
    functions.read = read_callback;
    functions.write = write_callback;
    functions.truncate = truncate_callback;
    std::fill(std::begin(functions.fl_map), std::end(functions.fl_map), H5FD_MEM_SUPER);  // one kind of space
    functions.fl_map[H5FD_MEM_DRAW] = H5FD_MEM_DRAW;                                      // and that of the data
    return H5FDregister(&functions);
  }();
  return id;
}

}  // namespace

Hdf5Output::Hdf5Output(std::string path)
    : path_(std::move(path)), file_(open_to_write(path_.c_str(), O_RDWR | O_EXCL)) {
  if (!file_) throw internal_error("checkpoints", "{}: cannot be created: {}", path_, why_not_written(errno));
}

void Hdf5Output::use(hid_t file_access) {
  Hdf5Output* self = this;
  hdf5::check(H5Pset_driver(file_access, hdf5::checked(driver(), path_, "register the driver"), &self), path_,
              "set the driver");
}

void Hdf5Output::throw_if_failed() const {
  if (failed_ == nullptr) return;
  throw internal_error("checkpoints", "{}: {}: {}", path_, failed_, why_not_written(error_));
}

void Hdf5Output::expect_name() const {
  if (is_named(file_.get(), path_)) return;
  throw internal_error("checkpoints", "{}: was removed or replaced by somebody else while it was written", path_);
}

void Hdf5Output::finish(const std::function<void(int file)>& meanwhile) {
  throw_if_failed();
  ::sync_file_range(file_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);  // all of it
  if (meanwhile) meanwhile(file_.get());
  if (::fsync(file_.get()) != 0) {
    throw internal_error("checkpoints", "{}: cannot be flushed to disk: {}", path_, why_not_written(errno));
  }
  expect_name();
  file_.reset();
}

void Hdf5Output::write(std::int64_t offset, const char* from, std::size_t bytes) noexcept {
  size_ = std::max(size_, offset + static_cast<std::int64_t>(bytes));
  while (bytes > 0 && failed_ == nullptr) {
    const std::size_t block = std::min(bytes, block_bytes);
    if (!write_all_at(file_.get(), offset, from, block)) {
      error_ = errno;
      failed_ = "cannot be written";
      return;
    }
    offset += static_cast<std::int64_t>(block);
    if (offset - handed_over_ >= static_cast<std::int64_t>(block_bytes)) hand_over(offset);
    from += block;
    bytes -= block;
  }
}

void Hdf5Output::hand_over(std::int64_t end) noexcept {
  ::sync_file_range(file_.get(), handed_over_, end - handed_over_, SYNC_FILE_RANGE_WRITE);
  handed_over_ = end;
}

void Hdf5Output::read(std::int64_t offset, char* to, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const ssize_t got = ::pread(file_.get(), to, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && failed_ == nullptr) {
      error_ = errno;
      failed_ = "cannot be read back";
    }
    if (got <= 0) break;
    offset += got;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  std::memset(to, 0, bytes);  // beyond the end, as HDF5's driver does
}

void Hdf5Output::set_size(std::int64_t bytes) noexcept {
  if (bytes == size_) return;
  size_ = bytes;
  if (failed_ != nullptr || ::ftruncate(file_.get(), bytes) == 0) return;
  error_ = errno;
  failed_ = "cannot be sized";
}

void write_hdf5_file(const std::string& path, std::int64_t user_bytes,
                     const std::function<void(hid_t file, const Hdf5Output& output)>& fill,
                     const std::function<void(int file)>& meanwhile) {
  hdf5::prepare();
  Hdf5Output output(path);
  try {
    const Hdf5Properties access = hdf5::file_access(path);
    output.use(access.get());
    const Hdf5Properties creation = hdf5::without_times(H5P_FILE_CREATE, path);
    hdf5::check(H5Pset_userblock(creation.get(), static_cast<hsize_t>(user_bytes)), path, "leave room at the start");
    const Hdf5File file(
        hdf5::checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()), path, "create the file"));
    fill(file.get(), output);
    hdf5::check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), path, "flush the file");
  } catch (const Error&) {
    output.throw_if_failed();
    throw;
  }
  output.finish(meanwhile);
}

}  // namespace octet::checkpoint
