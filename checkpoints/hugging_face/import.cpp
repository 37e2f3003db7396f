#include "checkpoints/hugging_face/import.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoints/format/finite.h"
#include "checkpoints/format/model_tensors.h"
#include "checkpoints/hugging_face/hugging_face.h"
#include "checkpoints/hugging_face/weight_type.h"
#include "src/base/json_reader.h"
#include "src/base/open_files.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_name = "model.safetensors.index.json";
constexpr const char* single_name = "model.safetensors";

/// The files that an index names.
std::set<std::string> files_of_index(const fs::path& path) {
  std::set<std::string> names;
  const auto index = parse_json(files::read_file(path), "checkpoints", path.string(), "an index of safetensors files");
  const JsonReader whole(index, "checkpoints", path.string());
  for (const auto& [tensor, file] : whole.at("weight_map").members()) names.insert(file.text());
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      throw usage_error("checkpoints", "{}: names the file {}, which is not beside it", path.string(), name);
    }
  }
  return names;
}

void widen(const std::string& dtype, const std::vector<std::uint16_t>& from, float* to) {
  if (dtype == "BF16") {
    std::ranges::transform(from, to, [](std::uint16_t bits) { return static_cast<float>(bf16::from_bits(bits)); });
  } else {
    std::ranges::transform(from, to, from_half);
  }
}

bool is_known(const std::string& dtype) {
  return dtype == "F32" || dtype == "BF16" || dtype == "F16";
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

}  // namespace

HuggingFaceModel::HuggingFaceModel(const std::string& directory) {
  const fs::path config = fs::path(directory) / "config.json";
  const std::string text = files::read_file(config);
  model_ = parse_hugging_face_config(text, config);
  warnings_ = config_warnings(text, config);
  open_files(directory);
  find_parameters(directory);
}

void HuggingFaceModel::open_files(const std::string& directory) {
  const fs::path folder = directory;
  std::set<std::string> names;
  if (files::is_there(folder / index_name)) {
    names = files_of_index(folder / index_name);
    if (!names.contains(single_name) && files::is_there(folder / single_name)) {
      throw usage_error("checkpoints",
                        "{}: has both {} and {}, which does not name it: which weights are meant is not known; remove "
                        "the one that is not",
                        directory, single_name, index_name);
    }
  } else if (files::is_there(folder / single_name)) {
    names = {single_name};
  } else {
    throw usage_error("checkpoints", "{}: has neither {} nor {}", directory, single_name, index_name);
  }
  raise_limit_of_open_files();   // all stay open
  files_.reserve(names.size());  // places point into it
  for (const std::string& name : names) {
    const SafetensorsReader& file = files_.emplace_back(folder / name);
    for (const SafetensorsEntry& entry : file.header().tensors) {
      const auto [place, is_new] = by_name_.try_emplace(entry.name, Place{&file, &entry});
      if (!is_new) {
        throw usage_error("checkpoints", "{}: tensor {} is in {} too", file.path(), entry.name,
                          place->second.file->path());
      }
    }
  }
}

void HuggingFaceModel::find_parameters(const std::string& directory) {
  auto left = by_name_;
  for (const StoredTensor& t : model_tensors(model_)) {
    const std::string name = hugging_face_name(t.name);
    const auto found = left.find(name);
    if (found == left.end()) throw usage_error("checkpoints", "{}: no file has tensor {}", directory, name);
    const SafetensorsEntry& entry = *found->second.entry;
    const std::vector<std::int64_t> expected = t.shape.list();
    if (entry.shape != expected) {
      throw usage_error("checkpoints", "{}: tensor {} has shape {}; config.json makes it {}",
                        found->second.file->path(), name, text_of(entry.shape), text_of(expected));
    }
    if (!is_known(entry.dtype)) {
      throw usage_error("checkpoints", "{}: tensor {} is {}, expected F32, BF16 or F16", found->second.file->path(),
                        name, entry.dtype);
    }
    parameters_[t.name] = found->second;
    left.erase(found);
  }
  for (const auto& [name, place] : left) {
    const bool tied_head = model_.tied_embedding && name == "lm_head.weight";
    if (tied_head) expect_tied(place);
    if (!tied_head && !name.ends_with("rotary_emb.inv_freq")) {
      throw usage_error("checkpoints", "{}: tensor {} is no part of the model of config.json", place.file->path(),
                        name);
    }
    ignored_.push_back(name);
  }
}

void HuggingFaceModel::expect_tied(const Place& head) const {
  constexpr std::int64_t most = 4 << 20;
  const Place& embedding = parameters_.at("tok_embeddings.weight");
  bool same = head.entry->dtype == embedding.entry->dtype && head.entry->shape == embedding.entry->shape;
  std::vector<std::byte> of_head(most), of_embedding(most);
  for (std::int64_t first = 0; same && first < head.entry->bytes(); first += most) {
    const std::int64_t bytes = std::min(most, head.entry->bytes() - first);
    head.file->read(*head.entry, first, bytes, of_head.data());
    embedding.file->read(*embedding.entry, first, bytes, of_embedding.data());
    same = std::equal(of_head.begin(), of_head.begin() + bytes, of_embedding.begin());
  }
  if (same) return;
  throw usage_error("checkpoints",
                    "{}: tensor {} is another one than {}, but config.json has tie_word_embeddings true; expected the "
                    "same values, or tie_word_embeddings false",
                    head.file->path(), head.entry->name, embedding.entry->name);
}

std::string HuggingFaceModel::place(const std::string& parameter) const {
  const auto& [file, entry] = parameters_.at(parameter);
  return fmt::format("{}: tensor {}", file->path(), entry->name);
}

void HuggingFaceModel::read_rows(const std::string& parameter, std::int64_t first_row, std::int64_t rows,
                                 float* to) const {
  const auto& [file, entry] = parameters_.at(parameter);
  const std::int64_t row = entry->bytes() / entry->shape[0];
  if (entry->dtype == "F32") return file->read(*entry, first_row * row, rows * row, to);
  std::vector<std::uint16_t> narrow(static_cast<std::size_t>(rows * row / 2));
  file->read(*entry, first_row * row, rows * row, narrow.data());
  widen(entry->dtype, narrow, to);
}

void HuggingFaceModel::read_box(const std::string& parameter, const Box& box, float* to,
                                files::ReadProgress& progress) const {
  constexpr std::int64_t most_floats = 1 << 22;
  const auto& [file, entry] = parameters_.at(parameter);
  const std::int64_t columns = box.extent.row_elements();
  const std::int64_t row = entry->shape.size() == 1 ? 1 : entry->shape[1];
  const std::int64_t at_once = std::max<std::int64_t>(1, most_floats / row);
  std::vector<float> whole;
  progress.begin(file->path());
  for (std::int64_t first = 0; first < box.extent[0]; first += at_once) {
    const std::int64_t rows = std::min(at_once, box.extent[0] - first);
    float* const place = to + first * columns;
    if (columns == row) {
      read_rows(parameter, box.offset[0] + first, rows, place);
    } else {
      whole.resize(static_cast<std::size_t>(rows * row));
      read_rows(parameter, box.offset[0] + first, rows, whole.data());
      for (std::int64_t r = 0; r < rows; ++r) {
        const float* begin = whole.data() + r * row + box.offset[1];
        std::copy(begin, begin + columns, place + r * columns);
      }
    }
    progress.add(rows * row * 4);
  }
}

Manifest import_hugging_face(const HuggingFaceModel& from, const std::string& to, const RunState& state, int writers,
                             const ByteProgress& progress, const std::vector<PlainFile>& beside) {
  const auto tensors = training_tensors(from.model());
  std::vector<float> data;
  const PartSource source = [&](const Part& part) -> const void* {
    const StoredTensor& tensor = tensors[static_cast<std::size_t>(part.tensor)];
    data.assign(static_cast<std::size_t>(part.box.extent.elements()), 0.0f);
    if (const auto parameter = parameter_of(TensorKind::master, tensor.name)) {
      from.read_rows(*parameter, part.box.offset[0], part.box.extent[0], data.data());
      expect_finite(data, from.place(*parameter), part.box, nothing_to_learn_from);
    }
    return data.data();
  };
  return write_checkpoint(to, state, tensors, plan_writers(tensors, writers), source, progress, beside);
}

}  // namespace octet::checkpoint
