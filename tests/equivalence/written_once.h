#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoints/format/hdf5_support.h"
#include "checkpoints/restore/restore.h"

namespace octet::test {

/// Adds "FILE: DATASET, N bytes" for every dataset below a group of a file.
inline void add_datasets(hid_t group, const std::string& file, const std::string& prefix,
                         std::vector<std::string>& all) {
  H5G_info_t info{};
  ASSERT_GE(H5Gget_info(group, &info), 0) << file;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    std::array<char, 256> name{};
    ASSERT_GT(H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(), name.size(), H5P_DEFAULT), 0)
        << file;
    const checkpoint::Hdf5Handle<H5Oclose> object(H5Oopen(group, name.data(), H5P_DEFAULT));
    const std::string path = prefix + name.data();
    if (H5Iget_type(object.get()) == H5I_GROUP) {
      add_datasets(object.get(), file, path + "/", all);
    } else {
      all.push_back(fmt::format("{}: {}, {} bytes", file, path, H5Dget_storage_size(object.get())));
    }
  }
}

/// The files that ranks wrote hold the pieces that the manifest lists and no others. A manifest that lists a piece
/// twice is refused, so that only the files can tell of one that was written twice.
inline void expect_written_once(const checkpoint::Found& found) {
  std::vector<std::string> written, listed;
  for (const auto& entry : std::filesystem::directory_iterator(found.directory)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("writer-")) continue;
    const checkpoint::Hdf5File file(H5Fopen(entry.path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const checkpoint::Hdf5Group root(H5Gopen2(file.get(), "/", H5P_DEFAULT));
    add_datasets(root.get(), name, "", written);
  }
  for (const checkpoint::StoredPiece& piece : found.manifest.pieces) {
    const checkpoint::StoredTensor& tensor = found.manifest.tensors[static_cast<std::size_t>(piece.tensor)];
    listed.push_back(fmt::format("{}: {}, {} bytes", found.manifest.files[static_cast<std::size_t>(piece.file)].name,
                                 checkpoint::dataset_name(tensor.name, piece.box),
                                 piece.box.extent.elements() * size_of(tensor.dtype)));
  }
  std::ranges::sort(written);
  std::ranges::sort(listed);
  EXPECT_EQ(written, listed);
}

}  // namespace octet::test
