#pragma once

#include <hdf5.h>

#include "src/base/handle.h"

/// RAII for HDF5's identifiers. Closing is silent: what must not fail is flushed and checked before.
namespace octet::checkpoint {

template <herr_t (*close_function)(hid_t)>
struct Hdf5Traits {
  using type = hid_t;
  static type null() { return H5I_INVALID_HID; }
  static void close(type id) noexcept { close_function(id); }
};

using Hdf5File = Handle<Hdf5Traits<H5Fclose>>;
using Hdf5Group = Handle<Hdf5Traits<H5Gclose>>;
using Hdf5Dataset = Handle<Hdf5Traits<H5Dclose>>;
using Hdf5Space = Handle<Hdf5Traits<H5Sclose>>;
using Hdf5Type = Handle<Hdf5Traits<H5Tclose>>;
using Hdf5Attribute = Handle<Hdf5Traits<H5Aclose>>;
using Hdf5Properties = Handle<Hdf5Traits<H5Pclose>>;

}  // namespace octet::checkpoint
